import type { CountedFigure } from "../harness/figure.ts";
import { inFreshProcess } from "../harness/fresh-process.ts";

/** What a long training run did to memory after its first 1,000 steps. */
export interface Endurance {
  /** Megabytes that the process's resident memory grew by at its largest. */
  readonly growth: number;
  /** Tensors alive at the end beyond those alive at the beginning. */
  readonly tensorsGained: number;
}

let trained: Promise<Endurance> | undefined;

/** One run serves both figures. */
function train(quick: boolean): Promise<Endurance> {
  trained ??= inFreshProcess<Endurance>(
    new URL("./endure.ts", import.meta.url),
    [quick ? "20000" : "100000"],
    ["--expose-gc"],
  );
  return trained;
}

const run = "100,000 steps of the smallest net";

export const endurance: readonly CountedFigure[] = [
  {
    kind: "counted",
    name: `${run}: live buffers gained`,
    engine: "xla",
    unit: "tensors",
    ours: async ({ quick }) => (await train(quick)).tensorsGained,
    bars: [{ kind: "absolute", atMost: 0 }],
  },
  {
    kind: "counted",
    name: `${run}: resident memory gained after 1,000`,
    engine: "xla",
    unit: "MB",
    ours: async ({ quick }) => (await train(quick)).growth,
    bars: [{ kind: "absolute", atMost: 20 }],
  },
];
