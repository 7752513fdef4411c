import { type DType, isFloat, type Shape } from "../index.ts";
import { type Dense, dense, sizeOf } from "./dense.test-support.ts";

/** One application of a row: valid inputs and parameters. */
export interface Sample {
  readonly inputs: readonly Dense[];
  readonly params?: unknown;
  /**
   * `all` (the default): a place where the row is smooth, for values, batching and derivatives. `batching`: for all but
   * derivatives. `values`: an edge that is there for its values alone: extremes, ties, tensors without elements.
   */
  readonly for?: "all" | "batching" | "values";
  /** The factor on the usual tolerance of floats. */
  readonly slack?: number;
  /** Sizes below this count as this: sums of large parts can come out small. */
  readonly floor?: number;
}

/** Makes the samples of a row. `float` is the element type of those that are floating point. */
export type SampleMaker = (random: Sampler, float: DType) => readonly Sample[];

/** A row in plain TypeScript: slow, but obvious. */
export type Reference = (inputs: readonly Dense[], params: never) => readonly Dense[];

/** Limits of a random shape. */
interface ShapeLimits {
  readonly minRank?: number;
  readonly maxRank?: number;
  readonly maxLength?: number;
  /** Allows axes without elements. Default: false. */
  readonly empty?: boolean;
}

/** Random choices that are the same for the same seed. */
export interface Sampler {
  /** Between `low` and `high`. */
  float(low: number, high: number): number;
  /** A whole number from `low` to `high`, both included. */
  int(low: number, high: number): number;
  pick<T>(list: readonly [T, ...T[]]): T;
  /** A shape with axes of length 1 more often than chance has them. */
  shape(limits?: ShapeLimits): Shape;
  /** A shape, and another that NumPy's rules repeat into it. */
  broadcastPair(): { readonly from: Shape; readonly to: Shape };
  /** Numbers between `low` and `high`. Default: small whole ones, of both signs where the type has them. */
  numbers(dtype: DType, shape: Shape, low?: number, high?: number): Dense;
}

/** Starts a sequence of random choices. */
export function sampler(seed: number): Sampler {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let x = Math.imul(state ^ (state >>> 15), state | 1);
    x ^= x + Math.imul(x ^ (x >>> 7), x | 61);
    return ((x ^ (x >>> 14)) >>> 0) / 2 ** 32;
  };
  const float = (low: number, high: number) => low + (high - low) * next();
  const int = (low: number, high: number) => low + Math.floor(next() * (high - low + 1));
  const shape = ({ minRank = 0, maxRank = 3, maxLength = 4, empty = false }: ShapeLimits = {}): number[] => {
    const lengths = Array.from({ length: int(minRank, maxRank) }, () =>
      next() < 0.25 ? 1 : int(2, Math.max(2, maxLength)),
    );
    if (empty && lengths.length > 0) lengths[int(0, lengths.length - 1)] = 0;
    return lengths;
  };
  return {
    float,
    int,
    pick: (list) => list[int(0, list.length - 1)] as (typeof list)[0],
    shape,
    broadcastPair: () => {
      const to = shape({ minRank: 1 });
      const from = to.slice(int(0, to.length)).map((n) => (next() < 0.4 ? 1 : n));
      return { from, to };
    },
    numbers: (dtype, of, low, high) => {
      const size = sizeOf(of);
      if (isFloat(dtype))
        return dense(
          dtype,
          of,
          Array.from({ length: size }, () => float(low ?? -2, high ?? 2)),
        );
      const from = dtype === "bool" ? 0 : (low ?? (dtype === "i32" ? -9 : 0));
      const to = dtype === "bool" ? 1 : (high ?? 9);
      return dense(
        dtype,
        of,
        Array.from({ length: size }, () => int(from, to)),
      );
    },
  };
}
