import type { Run } from "../data/index.ts";
import type { CompileOptions } from "../engine/index.ts";
import { type MonitorOptions, type Packing, RampNumbers, type RateRamps } from "../learner/index.ts";
import type { Params } from "../nn/index.ts";
import type { Optimizer, OptimizerState } from "../optim/index.ts";
import type { Batch } from "./batch.ts";
import type { Objective } from "./objective.ts";
import { trainProgram } from "./program.ts";
import type { MicroBatches } from "./update.ts";

export interface ProgramsSpec {
  readonly objective: Objective;
  readonly optimizer: Optimizer;
  readonly rates: RateRamps;
  readonly params: Packing<Params>;
  readonly state: Packing<OptimizerState>;
  readonly batchSize: number;
  readonly batchOf: (rows: Batch) => Batch;
  readonly monitor: MonitorOptions;
  /** Whether loops pay on this device for this model. */
  readonly loops: boolean;
  readonly maxFuse: number;
  /** Asked when a program is made. */
  readonly options: () => CompileOptions;
}

/** The micro-batches of one update of so many examples. */
const partsOf = (rows: number, batchSize: number): readonly MicroBatches[] =>
  [
    { size: batchSize, count: Math.floor(rows / batchSize) },
    { size: rows % batchSize, count: 1 },
  ].filter(({ size, count }) => size > 0 && count > 0);

/** The most updates of a run that go into one call. */
export const capacityOf = (
  { count }: Run,
  { loops, maxFuse }: Pick<ProgramsSpec, "loops" | "maxFuse">,
): number => (loops ? Math.min(maxFuse, count) : 1);

/** One program for each size of updates and each set of losses, made when first needed. */
export function programs(spec: ProgramsSpec) {
  const { objective, batchSize } = spec;
  const ofSet = objective.perSet((names) => {
    const made = new Map<Run, TrainCall>();
    return (run: Run): TrainCall => {
      const known = made.get(run);
      if (known) return known;
      const capacity = capacityOf(run, spec);
      const options = spec.options();
      const program = trainProgram(
        {
          ...spec,
          compute: (inputs) => objective.compute(names, inputs),
          parts: partsOf(run.size, batchSize),
          capacity,
        },
        options,
      );
      const call = { program, numbers: new RampNumbers(spec.rates.names, capacity, options) };
      made.set(run, call);
      return call;
    };
  });
  return (names: readonly string[], run: Run): TrainCall => ofSet(names)(run);
}

export interface TrainCall {
  readonly program: ReturnType<typeof trainProgram>;
  readonly numbers: RampNumbers;
}
