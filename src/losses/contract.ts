import type { Value } from "../engine/index.ts";
import type { ApplyOptions, Params } from "../nn/index.ts";
import type { Adds, Counters, Ramp } from "../schedule/index.ts";
import type { Stateful } from "../state/index.ts";
import type { LossPhase } from "./activity.ts";
import type { LossFunction } from "./as-loss.ts";
import type { RolloutInputs } from "./fields.ts";
import type { Field, Loss } from "./loss.ts";
import type { Evaluate } from "./sum.ts";

/** What an objective is made of. */
export interface ObjectiveOptions<B, O> {
  /** The pass all terms share: run once in each step, whatever is active. It gets the step's own key. */
  forward(params: Params, batch: B, options: ApplyOptions): O;
  readonly losses: readonly (Loss<NoInfer<B>, NoInfer<O>> | LossFunction<NoInfer<B>, NoInfer<O>>)[];
  /** Further scalars of the forward pass, reported beside the terms and under names of their own. */
  metrics?(outputs: O, batch: B): Readonly<Record<string, Value>>;
  /** The most sets of active losses that are compiled before it is an error. 16 unless given. */
  readonly maxSets?: number | undefined;
  /** Whether a batch may begin with no loss active: its loss is 0 then. An error unless true. */
  readonly allowNone?: boolean | undefined;
}

/** Losses put together by `objective`. A set of losses is a list of their names, in the order of terms. */
export interface Objective<B, O> {
  /** All losses, in the order of terms: each after those whose values it reads, otherwise as given. */
  readonly names: readonly string[];
  /**
   * The losses that take part in a phase or batch that begins at these counters. `adds` is what one such batch adds
   * to them, so that intervals in units that jump (`samples`) are not missed.
   */
  active(phase: LossPhase, counters: Counters, adds?: Adds): readonly string[];
  /**
   * For how many batches, `limit` at most, these losses surely stay the same; `adds` is what each batch adds to the
   * counters (`steps` too, where schedules are written in it; a train batch adds `batches: 1` unless told).
   */
  until(phase: LossPhase, counters: Counters, adds: Adds, limit: number): number;
  /**
   * So many batches from these counters on, cut where the active losses change: how many lie in each stretch. Which
   * losses those are is asked when a stretch, or the rest of it, begins.
   */
  stretches(phase: LossPhase, counters: Counters, adds: Adds, count: number): readonly number[];
  /** The sum of these losses, as math to compile. */
  evaluate(names: readonly string[]): Evaluate<B>;
  /**
   * Keeps what is made for each set of losses, usually a compiled step: coming back to a set makes nothing. Several
   * things can be kept, each by its own call; the sets are counted together.
   */
  perSet<T>(make: (evaluate: Evaluate<B>, names: readonly string[]) => T): (names: readonly string[]) => T;
  /** The sets that something was made for. */
  readonly sets: readonly (readonly string[])[];
  /** What these losses, or all, read from the batch. */
  fields(names?: readonly string[]): Readonly<Record<string, Field>>;
  /** The fields these losses add while experience is gathered. */
  rollout(names: readonly string[], inputs: RolloutInputs<B, O>): Readonly<Record<string, Value>>;
  /** Weights and rates that change, as `weight.<loss>` and `rate.<loss>.<rate>`. Their values are what `evaluate` takes as weights. */
  readonly ramps: Readonly<Record<string, Ramp>>;
  /** What the losses remember, as `loss.<loss>`, and schedules of theirs that do, as `schedule.<loss>.<phase>`. */
  readonly components: Readonly<Record<string, Stateful>>;
  /** The losses' hooks. */
  readonly hooks: readonly { readonly name: string }[];
}
