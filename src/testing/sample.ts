import type { DType } from "../engine/index.ts";
import type { Dense } from "./dense.ts";
import type { Sampler } from "./sampler.ts";

/** One application of a row: valid inputs and parameters. */
export interface Sample {
  readonly inputs: readonly Dense[];
  readonly params?: unknown;
  /**
   * `all` (the default): a place where the row is smooth, for values, batching and derivatives. `batching`: for all but
   * derivatives. `values`: an edge that is there for its values alone: extremes, ties, tensors without elements.
   */
  readonly for?: "all" | "batching" | "values";
  /** How many times the usual tolerance floats may be apart. */
  readonly slack?: number;
  /** Sizes below this count as this: sums of large parts can come out small. */
  readonly floor?: number;
}

/** Makes the samples of a row. `float` is the element type of those that are floating point. */
export type SampleMaker = (random: Sampler, float: DType) => readonly Sample[];

/** What a row gives, in plain TypeScript: slow, but obvious. */
export type Reference = (inputs: readonly Dense[], params: never) => readonly Dense[];
