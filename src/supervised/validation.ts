import { EspalierError, treeMap } from "../core/index.ts";
import { type HostArray, np, read, type Tensor, type Value } from "../engine/index.ts";
import { compileUpdate, repeat } from "../learner/index.ts";
import type { Examples } from "./examples.ts";
import type { SupervisedObjective } from "./objective.ts";
import { type MetricStates, MetricsTracker, type Validated } from "./tracker.ts";
import type { ProgramOptions, Rows } from "./update.ts";

/** Held-out examples, in calls of the program: arrays on the device, or batches that are loaded each time. */
export interface HeldOut {
  /** The number of examples; undefined where it is not known. */
  readonly length: number | undefined;
  /** The data of calls from the first example on, each on the device until the next one is asked for. */
  calls(batchSize: number, capacity: number): Iterable<ValidationCall> | AsyncIterable<ValidationCall>;
  close(): Promise<void>;
}

/** A call of a program: `count` batches of one size, from an example of the data on. */
interface ValidationCall {
  readonly data: Examples["data"];
  readonly from: number;
  readonly count: number;
  readonly size: number;
  readonly capacity: number;
}

/** Arrays: full batches, as many as fit into a call, then the smaller one. */
export const heldArrays = ({ data, length }: Examples): HeldOut => ({
  length,
  *calls(batchSize, capacity) {
    const full = Math.floor(length / batchSize);
    const room = Math.min(capacity, full);
    for (let done = 0; done < full; done += room) {
      const count = Math.min(room, full - done);
      yield { data, from: done * batchSize, count, size: batchSize, capacity: room };
    }
    const rest = length % batchSize;
    if (rest > 0) yield { data, from: full * batchSize, count: 1, size: rest, capacity: 1 };
  },
  close: async () => {},
});

/**
 * Losses and metrics of all held-out examples, in batches of one size and a smaller last one: means over examples, and
 * metrics of the set, whose states stay on the device from call to call. Call it with the ramps' numbers.
 */
export function validation(options: ProgramOptions & { readonly held: HeldOut }) {
  const programs = new Map<number, ReturnType<typeof validationProgram>>();
  const programOf = (size: number, capacity: number) => {
    const known = programs.get(size) ?? validationProgram(options, size, capacity);
    programs.set(size, known);
    return known;
  };
  const { learner, objective, held, batchSize, capacity: most } = options;
  const tracker = new MetricsTracker(objective.setMetrics, {
    ...learner.compileOptions("metrics"),
    examples: held.length,
  });
  return async (weights: Readonly<Record<string, number>>, signal: AbortSignal): Promise<Validated> => {
    let states = tracker.start();
    const parts: Part[] = [];
    for await (const { data, from, count, size, capacity } of held.calls(batchSize, most)) {
      if (signal.aborted)
        throw new EspalierError("ABORTED", "validation was stopped before its end", { cause: signal.reason });
      const at = Int32Array.of(count, from);
      const done = programOf(size, capacity)({ data, at, weights, metrics: states });
      states = done.metrics;
      parts.push({ ...done, count, size });
      // Batches that are loaded do not pile up on the device.
      await parts.at(-3)?.values.loss?.ready();
    }
    const means = await meansOf(objective, parts, weights);
    tracker.states = states;
    const { metrics, tables } = await tracker.values();
    return { metrics: { ...means, ...metrics }, tables };
  };
}

/** Values of some batches of one size, and what their losses counted in each. */
interface Part {
  readonly values: Readonly<Record<string, Tensor>>;
  readonly counts: Readonly<Record<string, Tensor>>;
  readonly count: number;
  readonly size: number;
}

/** Means over all batches: by examples, or by what a loss counts. */
async function meansOf(
  objective: SupervisedObjective,
  parts: readonly Part[],
  ramps: Readonly<Record<string, number>>,
): Promise<Readonly<Record<string, number>>> {
  const sums: Record<string, number> = {};
  const totals: Record<string, number> = {};
  const counted = parts.some(({ counts }) => Object.keys(counts).length > 0);
  for (const { values, counts, count, size } of parts) {
    const [rows, weights] = await Promise.all([read(values), read(counts)]);
    for (const [name, numbers] of Object.entries(rows))
      for (let i = 0; i < count; i++) {
        const own = treeMap((all: HostArray) => all[i] as number, weights);
        // The sum of several losses is taken below, from each one's mean.
        const byExamples = !counted || (name === "loss" && objective.sum);
        const weight = byExamples ? size : Number(objective.factors(own, size).value(name));
        sums[name] = (sums[name] ?? 0) + (weight === 0 ? 0 : (numbers[i] as number) * weight);
        totals[name] = (totals[name] ?? 0) + weight;
      }
  }
  const means: Record<string, number> = {};
  for (const [name, sum] of Object.entries(sums)) means[name] = sum / (totals[name] || 1);
  return counted && objective.sum ? { ...means, loss: objective.sum(means, ramps) } : means;
}

type ValidationInputs = {
  readonly data: Rows;
  /** i32[2]: batches in this call, and the example they begin with. */
  readonly at: Value;
  readonly weights: Readonly<Record<string, Value>>;
  readonly metrics: MetricStates;
};

function validationProgram({ learner, objective, batchOf }: ProgramOptions, size: number, capacity: number) {
  return compileUpdate(
    { updates: {}, reads: { params: learner.validated } },
    ({ params }, { data, at, weights, metrics }: ValidationInputs) => {
      const [count, from] = [np.take(at, 0), np.take(at, 1)];
      const [states, results] = repeat(capacity, count, metrics, null, (now, _x, index) => {
        const batch = batchOf(learner.shard(sliceRows(data, index.mul(size).add(from), size)));
        const inputs = { params, batch, train: false, ramps: weights, metrics: now };
        const [, all, next] = objective.compute(objective.names, inputs);
        const values = treeMap((value: Value) => value.astype("f32"), all);
        return [next, { values, counts: objective.counts(batch) }] as const;
      });
      return [{}, { ...results, metrics: states }] as const;
    },
    learner.compileOptions("the validation program"),
  );
}

export function sliceRows(data: Rows, start: Value, size: number): Rows {
  return treeMap(
    (array: Value) =>
      np.dynamicSlice(array, [start, ...array.shape.slice(1).map(() => 0)], [size, ...array.shape.slice(1)]),
    data,
  );
}
