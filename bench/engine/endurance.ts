import type { CountedFigure } from "../harness/figure.ts";
import { inFreshProcess } from "../harness/fresh-process.ts";

/** What a long training run did to memory after its first 1,000 steps. */
export interface Endurance {
  /** Megabytes by which the process's resident memory had grown at its largest. */
  readonly growth: number;
  /** Tensors held at the end beyond those held at the beginning. */
  readonly tensorsGained: number;
}

/** Whether steps free what they replace at once, or leave it to JavaScript's collector. */
type Freeing = "donated" | "collected";

const runs = new Map<Freeing, Promise<Endurance>>();

/** One run serves both figures. */
function train(freeing: Freeing, quick: boolean): Promise<Endurance> {
  const steps = quick ? "20000" : "100000";
  const run =
    runs.get(freeing) ??
    inFreshProcess<Endurance>(new URL("./endure.ts", import.meta.url), [steps, freeing], ["--expose-gc"]);
  runs.set(freeing, run);
  return run;
}

function figuresOf(freeing: Freeing, mostMegabytes?: number): readonly CountedFigure[] {
  const name = `100,000 steps, parameters ${freeing}`;
  return [
    {
      kind: "counted",
      name: `${name}: live buffers gained`,
      engine: "xla",
      unit: "tensors",
      ours: async ({ quick }) => (await train(freeing, quick)).tensorsGained,
      bars: [{ kind: "absolute", atMost: 0 }],
    },
    {
      kind: "counted",
      name: `${name}: resident memory gained after 1,000`,
      engine: "xla",
      unit: "MB",
      ours: async ({ quick }) => (await train(freeing, quick)).growth,
      bars: mostMegabytes === undefined ? [] : [{ kind: "absolute", atMost: mostMegabytes }],
    },
  ];
}

export const endurance: readonly CountedFigure[] = [...figuresOf("donated", 20), ...figuresOf("collected")];
