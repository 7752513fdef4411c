import { EspalierError, treeMap } from "../core/index.ts";
import { np, read, type Tensor, type Value } from "../engine/index.ts";
import { compileUpdate, type Learner, repeat } from "../learner/index.ts";
import type { Examples } from "./examples.ts";
import type { AnyBatch, SupervisedObjective } from "./objective.ts";
import type { Rows } from "./update.ts";

export interface ValidationOptions {
  readonly learner: Learner;
  readonly objective: SupervisedObjective;
  readonly examples: Examples;
  readonly batchSize: number;
  /** The most batches in one call. */
  readonly capacity: number;
  readonly batchOf: (rows: Rows) => AnyBatch;
}

/** Means over all held-out examples, in batches of one size and a smaller last one. Call it with the ramps' numbers. */
export function validation(options: ValidationOptions) {
  const { examples, batchSize, capacity } = options;
  const { data, length } = examples;
  const full = Math.floor(length / batchSize);
  const rest = length % batchSize;
  const room = Math.min(capacity, full);
  const many = room > 0 ? validationProgram(options, batchSize, room) : undefined;
  const last = rest > 0 ? validationProgram(options, rest, 1) : undefined;
  return async (
    weights: Readonly<Record<string, number>>,
    signal: AbortSignal,
  ): Promise<Readonly<Record<string, number>>> => {
    const parts: {
      readonly values: Readonly<Record<string, Tensor>>;
      readonly count: number;
      readonly size: number;
    }[] = [];
    for (let from = 0; many && from < full; from += room) {
      if (signal.aborted)
        throw new EspalierError("ABORTED", "validation was stopped before its end", { cause: signal.reason });
      const count = Math.min(room, full - from);
      const at = Int32Array.of(count, from * batchSize);
      parts.push({ values: many({ data, at, weights }), count, size: batchSize });
    }
    if (last) {
      const at = Int32Array.of(1, full * batchSize);
      parts.push({ values: last({ data, at, weights }), count: 1, size: rest });
    }
    const sums: Record<string, number> = {};
    for (const { values, count, size } of parts)
      for (const [name, rows] of Object.entries(await read(values)))
        for (let i = 0; i < count; i++) sums[name] = (sums[name] ?? 0) + (rows[i] as number) * size;
    return Object.fromEntries(Object.entries(sums).map(([name, sum]) => [name, sum / length]));
  };
}

type ValidationInputs = {
  readonly data: Rows;
  /** i32[2]: batches in this call, and the example they begin with. */
  readonly at: Value;
  readonly weights: Readonly<Record<string, Value>>;
};

/** Batches of one size, at most `capacity` in a call. */
function validationProgram(
  { learner, objective, batchOf }: ValidationOptions,
  size: number,
  capacity: number,
) {
  return compileUpdate(
    { updates: {}, reads: { params: learner.params } },
    ({ params }, { data, at, weights }: ValidationInputs) => {
      const [count, from] = [np.take(at, 0), np.take(at, 1)];
      const [, values] = repeat(capacity, count, null, null, (_carry, _x, index) => {
        const batch = batchOf(sliceRows(data, index.mul(size).add(from), size));
        const [, all] = objective.compute(objective.names, { params, batch, train: false, ramps: weights });
        return [null, treeMap((value: Value) => value.astype("f32"), all)] as const;
      });
      return [{}, values] as const;
    },
    learner.compileOptions("the validation program"),
  );
}

/** `size` examples from `start` on. */
export function sliceRows(data: Rows, start: Value, size: number): Rows {
  return treeMap(
    (array: Value) =>
      np.dynamicSlice(array, [start, ...array.shape.slice(1).map(() => 0)], [size, ...array.shape.slice(1)]),
    data,
  );
}
