import type { CountedFigure } from "../harness/figure.ts";
import { inFreshProcess } from "../harness/fresh-process.ts";
import type { Demo } from "./demo-once.ts";

const runs = new Map<string, Promise<Demo>>();

/** One run serves both figures. */
function play(engine: "xla" | "wasm"): Promise<Demo> {
  const run = runs.get(engine) ?? inFreshProcess<Demo>(new URL("./demo-once.ts", import.meta.url), [engine]);
  runs.set(engine, run);
  return run;
}

const figuresOf = (engine: "xla" | "wasm", atMost: number): readonly CountedFigure[] => [
  {
    kind: "counted",
    name: "the demo: seconds of training, compilation included",
    engine,
    unit: "s",
    ours: async () => (await play(engine)).seconds,
    bars: [{ kind: "absolute", atMost }],
  },
  {
    kind: "counted",
    name: "the demo: mean return of 20 evaluation episodes",
    engine,
    unit: "return",
    ours: async () => (await play(engine)).return,
    bars: [{ kind: "absolute", atLeast: 475 }],
  },
];

/** What `npm run demo` trains, in a fresh process. */
export const demo: readonly CountedFigure[] = [...figuresOf("xla", 30), ...figuresOf("wasm", 90)];
