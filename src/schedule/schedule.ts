import type { Stateful } from "../state/index.ts";
import type { Counters, Unit } from "./counters.ts";

/** When a schedule is asked. */
export interface Moment {
  readonly counters: Counters;
  /**
   * The counters at the previous moment of the same kind. Whatever lies after it and up to now has been crossed.
   * Without it the moment stands alone and counts as one step: each unit was one less before.
   */
  readonly since?: Counters | undefined;
}

/** A count that must be reached before a schedule can be due. */
export interface Point {
  readonly unit: Unit;
  readonly at: number;
}

/**
 * The one language of time: when something happens. Immutable, unless `state` says that it remembers.
 *
 * @example
 * ```ts
 * const schedule = every({ updates: 100 }).and(between({ epochs: [2, 10] }));
 * schedule.due({ counters }); // true or false
 * schedule.describe(); // "every 100 updates and between epochs 2 and 10"
 * ```
 */
export interface Schedule<C extends Moment = Moment> {
  /** Whether it is due at this moment. The same moment always gives the same answer. */
  due(moment: C): boolean;
  /**
   * What must be reached, after these counters, before it can be due again: the first of these points. It is not due
   * before, and may or may not be due then. An empty list means never; undefined means that it cannot be known. A
   * point that is reached already says that it may be due at the very next moment.
   *
   * To be asked with the counters of the last moment of the same kind, which the next one has as its `since`: what is
   * crossed is crossed from there.
   */
  nextDue(counters: Counters): readonly Point[] | undefined;
  /** The counters it reads. Undefined where that is not known. */
  readonly units?: readonly Unit[];
  /** The schedule in words. */
  describe(): string;
  readonly state?: Stateful;
  and<D extends Moment>(other: Schedule<D>): Schedule<C & D>;
  or<D extends Moment>(other: Schedule<D>): Schedule<C & D>;
  not(): Schedule<C>;
}
