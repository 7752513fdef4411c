import type { DType, Value, ValueLike } from "../engine/index.ts";
import type { Params } from "../nn/index.ts";
import type { Ramp, Schedule } from "../schedule/index.ts";
import type { Stateful } from "../state/index.ts";

/** A tree of values by name: a batch, a forward pass's outputs. */
export type Named<T = Value> = { readonly [name: string]: T | Named<T> };

/** What a term is computed from, all of it traced. */
export interface LossInputs<B = Named, O = unknown> {
  readonly params: Params;
  readonly batch: B;
  /** What the one shared forward pass gave. */
  readonly outputs: O;
  /** A value another term gave, of those that `reads` declares. */
  readonly read: (name: string) => Value;
  /** The present value of one of the loss's `rates`. */
  readonly rate: (name: string) => ValueLike;
  readonly train: boolean;
  /** A key of this term alone, for terms that draw random numbers. An error where the step was given none. */
  readonly key: Value;
}

/** What a term gives. */
export interface LossTerm {
  /** A scalar, before its weight. */
  readonly loss: Value;
  /** Scalars reported under the term's name: `policy.entropy`. */
  readonly metrics?: Readonly<Record<string, Value>>;
  /** Values for later terms, as `gives` declares them. */
  readonly values?: Readonly<Record<string, Value>>;
}

/** What a loss reads from the batch: the shape without the batch's own axis, and the element type. */
export interface Field {
  readonly shape: readonly number[];
  readonly dtype: DType;
}

/**
 * One term of an objective: what it adds, how much it counts, and when it is active.
 *
 * @example
 * ```ts
 * const entropy: Loss<Experience, Policy> = {
 *   name: "entropy",
 *   weight: linear({ from: 0.01, to: 0, over: { updates: 1000 } }),
 *   active: { train: cycle({ epochs: 8, active: [1, 2] }) },
 *   term: ({ outputs }) => ({ loss: np.mean(outputs.entropy).neg() }),
 * };
 * ```
 */
export interface Loss<B = Named, O = unknown> {
  readonly name: string;
  /** Default 1. A ramp's values are inputs of the compiled program, a number is part of it. */
  readonly weight?: Ramp | number;
  /** Other numbers of it that may change over time, such as a clip range. A ramp's values are inputs of the program. */
  readonly rates?: Readonly<Record<string, Ramp | number>>;
  /**
   * When it takes part in gathering experience and in training, each by itself; asked at the counters a phase or
   * batch begins with. Left out: always.
   */
  readonly active?: { readonly rollout?: Schedule; readonly train?: Schedule };
  /** What it reads from the batch, so that buffers can be laid out. */
  readonly fields?: Readonly<Record<string, Field>>;
  /** Fields it adds while experience is gathered. No values of other terms are there to `read`. */
  rollout?(inputs: LossInputs<B, O>): Readonly<Record<string, Value>>;
  term(inputs: LossInputs<B, O>): LossTerm;
  /** Names of values it reads from other terms (those that give them come first) and of values it gives. */
  readonly reads?: readonly string[];
  readonly gives?: readonly string[];
  /** Saved and restored under the loss's name. */
  readonly state?: Stateful;
  /** Hooks that come with it; the trainer registers them. */
  readonly hooks?: readonly { readonly name: string }[];
}
