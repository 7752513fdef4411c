import type { TimedFigure } from "../harness/figure.ts";
import { inFreshProcess } from "../harness/fresh-process.ts";

const figure = (name: string, until: "begin" | "end", bars: TimedFigure["bars"]): TimedFigure => ({
  kind: "timed",
  name: `start-up with a transformer of 4 layers, ${name}`,
  engine: "xla",
  unit: "s",
  steps: 1,
  ours: async () => ({
    run: () => inFreshProcess<number>(new URL("./start-once.ts", import.meta.url), [until]),
  }),
  peers: {},
  bars,
});

/** From nothing to training: engine, task, trainer and ten hooks. */
export const startUp: readonly TimedFigure[] = [
  figure("until the first batch begins", "begin", [{ kind: "absolute", atMost: 1, asked: "003" }]),
  figure("until it is done, XLA's compilation included", "end", []),
];
