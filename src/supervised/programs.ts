import type { Run } from "../data/index.ts";
import { type CompileOptions, put, type Tensor } from "../engine/index.ts";
import type { Params } from "../nn/index.ts";
import type { Optimizer, OptimizerState } from "../optim/index.ts";
import type { Batch } from "./batch.ts";
import type { MonitorOptions } from "./monitor.ts";
import type { Objective } from "./objective.ts";
import type { Packing } from "./packing.ts";
import { trainProgram } from "./program.ts";
import type { RateRamps } from "./rates.ts";
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

/** What ramps give for the updates of a call, on the device; put there anew only where something has changed. */
class RampNumbers {
  readonly #names: readonly string[];
  readonly #capacity: number;
  readonly #options: CompileOptions;
  readonly #last: Float32Array;
  #tensor: Tensor | undefined;

  constructor(names: readonly string[], capacity: number, options: CompileOptions) {
    this.#names = names;
    this.#capacity = capacity;
    this.#options = options;
    this.#last = new Float32Array(names.length * capacity);
  }

  tensor(ramps: Readonly<Record<string, Float32Array>>, count: number): Tensor | null {
    if (this.#names.length === 0) return null;
    let changed = this.#tensor === undefined;
    for (let k = 0; k < this.#names.length; k++) {
      const numbers = ramps[this.#names[k] as string] as Float32Array;
      for (let i = 0, at = k * this.#capacity; i < count; i++, at++)
        if (this.#last[at] !== numbers[i]) {
          this.#last[at] = numbers[i] as number;
          changed = true;
        }
    }
    if (!changed && this.#tensor) return this.#tensor;
    this.#tensor?.dispose();
    const { engine, device } = this.#options;
    this.#tensor = put(this.#last, { ...(engine && { engine }), ...(device !== undefined && { device }) });
    return this.#tensor;
  }
}
