import { EspalierError } from "../core/index.ts";
import type { TensorTree } from "../data/index.ts";
import { type CompileOptions, compile, np, read, type Tensor, type Value } from "../engine/index.ts";
import { type Packing, repeat } from "../learner/index.ts";
import type { Params } from "../nn/index.ts";
import { type Batch, sliceRows } from "./batch.ts";
import type { Objective } from "./objective.ts";

export interface ValidationSpec {
  readonly params: Packing<Params>;
  readonly objective: Objective;
  readonly data: { readonly x: TensorTree; readonly y?: TensorTree };
  readonly length: number;
  readonly batchSize: number;
  /** The most batches one call takes. */
  readonly capacity: number;
  readonly batchOf: (rows: Batch) => Batch;
  readonly options: CompileOptions;
}

/** Batches of one size, `capacity` of them at most, from an example on. */
function validationProgram(spec: ValidationSpec, size: number, capacity: number) {
  const { objective, batchOf } = spec;
  return compile(
    (arrays: readonly Value[], data: Batch, at: Value, weights: Readonly<Record<string, Value>>) => {
      const [count, from] = [np.take(at, 0), np.take(at, 1)];
      const params = spec.params.unpack(arrays);
      const [, values] = repeat(capacity, count, null, null, (_carry, _x, index) => {
        const batch = batchOf(sliceRows(data, index.mul(size).add(from), size));
        const [, all] = objective.compute(objective.names, { params, batch, train: false, ramps: weights });
        return [null, Object.fromEntries(Object.entries(all).map(([name, v]) => [name, v.astype("f32")]))];
      });
      return values as Readonly<Record<string, Value>>;
    },
    { ...spec.options, name: "the validation program" },
  );
}

/** Goes over held-out examples in batches, the last one smaller where it must be, and gives the means over examples. */
export function validation(spec: ValidationSpec) {
  const { data, length, batchSize, capacity } = spec;
  const full = Math.floor(length / batchSize);
  const rest = length % batchSize;
  const room = Math.min(capacity, full);
  const many = room > 0 ? validationProgram(spec, batchSize, room) : undefined;
  const last = rest > 0 ? validationProgram(spec, rest, 1) : undefined;
  const call = (program: NonNullable<typeof many>, params: unknown, at: Int32Array, weights: unknown) =>
    program(params as never, data as never, at, weights as never) as Readonly<Record<string, Tensor>>;
  return async (
    params: unknown,
    weights: Readonly<Record<string, number>>,
    signal: AbortSignal,
  ): Promise<Readonly<Record<string, number>>> => {
    const parts: {
      readonly values: Readonly<Record<string, Tensor>>;
      readonly count: number;
      readonly size: number;
    }[] = [];
    for (let from = 0; many && from < full; from += room) {
      if (signal.aborted) throw aborted(signal);
      const count = Math.min(room, full - from);
      parts.push({
        values: call(many, params, Int32Array.of(count, from * batchSize), weights),
        count,
        size: batchSize,
      });
    }
    if (last)
      parts.push({
        values: call(last, params, Int32Array.of(1, full * batchSize), weights),
        count: 1,
        size: rest,
      });
    const sums: Record<string, number> = {};
    for (const { values, count, size } of parts)
      for (const [name, rows] of Object.entries(await read(values)))
        for (let i = 0; i < count; i++) sums[name] = (sums[name] ?? 0) + (rows[i] as number) * size;
    return Object.fromEntries(Object.entries(sums).map(([name, sum]) => [name, sum / length]));
  };
}

const aborted = (signal: AbortSignal): EspalierError =>
  new EspalierError("ABORTED", "validation was stopped before its end", { cause: signal.reason });
