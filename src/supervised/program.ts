import { type CompileOptions, compile, np, random, type Value } from "../engine/index.ts";
import { firstNonFinite, type Packing, type RateRamps, repeat } from "../learner/index.ts";
import type { Params } from "../nn/index.ts";
import type { OptimizerState } from "../optim/index.ts";
import { type Batch, gatherRows } from "./batch.ts";
import { type MicroBatches, type UpdateSpec, update } from "./update.ts";

export interface ProgramSpec extends Omit<UpdateSpec, "parts"> {
  readonly parts: readonly MicroBatches[];
  /** The most updates one call can do. */
  readonly capacity: number;
  readonly rates: RateRamps;
  /** How parameters and optimizer state are kept between calls. */
  readonly params: Packing<Params>;
  readonly state: Packing<OptimizerState>;
  /** Makes a batch of the gathered rows. */
  readonly batchOf: (rows: Batch) => Batch;
}

/** How many examples one update takes. */
export const rowsOf = (parts: readonly MicroBatches[]): number =>
  parts.reduce((sum, { size, count }) => sum + size * count, 0);

/**
 * Updates in one call: how many, where in the order they begin, and how many there were before are inputs (`at`), as
 * are all rates. One program, whether it is called for one update or for many, so that the bits are the same.
 */
export function trainProgram(spec: ProgramSpec, options: CompileOptions) {
  const rows = rowsOf(spec.parts);
  const { capacity, rates } = spec;
  return compile(
    (
      params: readonly Value[],
      state: readonly Value[],
      data: Batch,
      order: Value,
      at: Value,
      ramps: Value | null,
      key: Value,
      first: Value,
    ) => {
      const [count, from, before] = [np.take(at, 0), np.take(at, 1), np.take(at, 2)];
      const [carry, { values, applied }] = repeat(
        capacity,
        count,
        { params: spec.params.unpack(params), state: spec.state.unpack(state), first },
        rates.stacks(ramps, capacity),
        (now, ramp, index) => {
          const start = index.mul(rows).add(from);
          const number = index.add(before);
          const next = update(spec, {
            params: now.params,
            state: now.state,
            rows: (offset, size) => spec.batchOf(gatherRows(data, order, start.add(offset), size)),
            rates: rates.rates(ramp),
            ramps: ramp,
            key: random.foldIn(key, number),
          });
          return [
            {
              params: next.params,
              state: next.state,
              first: firstNonFinite(now.first, next.finite, number),
            },
            { values: next.values, applied: next.applied ?? null },
          ] as const;
        },
      );
      // Packed at the edges of a call and not within the loop, where it would cost an update a fifth of its time.
      return {
        params: spec.params.pack(carry.params),
        state: spec.state.pack(carry.state),
        values,
        applied,
        first: carry.first,
      };
    },
    options,
  );
}
