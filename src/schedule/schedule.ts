import { EspalierError, shown } from "../core/index.ts";
import type { Stateful, StateTree } from "../state/index.ts";
import type { Counters, Unit } from "./counters.ts";
import { later, type Points, sooner } from "./points.ts";

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
  /** True if it is due at this moment. The same moment always gives the same answer. */
  due(moment: C): boolean;
  /**
   * Points of which the first must be reached, after these counters, before it can be due again. It is not due
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

/** Parts of a schedule; `and`, `or` and `not` follow from them. */
export interface ScheduleDefinition<C extends Moment = Moment> {
  /** See {@link Schedule.due}. It is asked at every event: it should be cheap. */
  due(moment: C): boolean;
  /** See {@link Schedule.nextDue}. Left out: it cannot be known. */
  nextDue?(counters: Counters): Points;
  /** The same for its opposite: what must be reached before it can be not due. Left out: it cannot be known. */
  nextOff?(counters: Counters): Points;
  /** See {@link Schedule.describe}. */
  describe(): string;
  /** See {@link Schedule.units}. */
  readonly units?: readonly Unit[] | undefined;
  readonly state?: Stateful | undefined;
}

/**
 * A schedule of your own, with `and`, `or` and `not`.
 *
 * @example
 * ```ts
 * const weekdays = defineSchedule({
 *   due: ({ counters }) => counters.epoch % 7 < 5,
 *   describe: () => "on weekdays, an epoch a day",
 * });
 * const hook = { name: "report", schedule: weekdays.and(every({ updates: 100 })), onBatchEnd };
 * ```
 */
export function defineSchedule<C extends Moment = Moment>(definition: ScheduleDefinition<C>): Schedule<C> {
  const { due, describe, nextDue, nextOff } = (definition ?? {}) as Partial<ScheduleDefinition<C>>;
  const optional = [nextDue, nextOff].every((part) => part === undefined || typeof part === "function");
  if (typeof due === "function" && typeof describe === "function" && optional) return build(definition);
  throw new EspalierError("SCHEDULE_INVALID", `defineSchedule: it was given ${shown(definition)}`, {
    fix: "give { due, describe }, both functions, and where they are known nextDue and nextOff",
  });
}

/** The word that joins a combined schedule's parts, so that only those are put into brackets that need it. */
type Joint = "and" | "or";

const joints = new WeakMap<object, Joint>();

function build<C extends Moment>(
  definition: ScheduleDefinition<C>,
  joint?: Joint,
  opposite?: Schedule<C>,
): Schedule<C> {
  let denied = opposite;
  const { state, units } = definition;
  const made: Schedule<C> = {
    due: definition.due.bind(definition),
    nextDue: (counters) => definition.nextDue?.(counters),
    describe: () => definition.describe(),
    ...(units && { units }),
    ...(state && { state }),
    and: (other) => both(made, checked(other, "and")),
    or: (other) => either(made, checked(other, "or")),
    not: () => {
      denied ??= build(denial(made, definition), undefined, made);
      return denied;
    },
  };
  if (joint) joints.set(made, joint);
  return made;
}

function both<C extends Moment, D extends Moment>(a: Schedule<C>, b: Schedule<D>): Schedule<C & D> {
  return build<C & D>(
    {
      due: (moment) => a.due(moment) && b.due(moment),
      nextDue: (counters) => later(counters, a.nextDue(counters), b.nextDue(counters)),
      nextOff: (counters) => sooner(a.not().nextDue(counters), b.not().nextDue(counters)),
      describe: () => `${within(a, "and")} and ${within(b, "and")}`,
      units: unitsOf(a, b),
      state: jointState(a.state, b.state),
    },
    "and",
  );
}

function either<C extends Moment, D extends Moment>(a: Schedule<C>, b: Schedule<D>): Schedule<C & D> {
  return build<C & D>(
    {
      due: (moment) => a.due(moment) || b.due(moment),
      nextDue: (counters) => sooner(a.nextDue(counters), b.nextDue(counters)),
      nextOff: (counters) => later(counters, a.not().nextDue(counters), b.not().nextDue(counters)),
      describe: () => `${within(a, "or")} or ${within(b, "or")}`,
      units: unitsOf(a, b),
      state: jointState(a.state, b.state),
    },
    "or",
  );
}

function denial<C extends Moment>(
  schedule: Schedule<C>,
  definition: ScheduleDefinition<C>,
): ScheduleDefinition<C> {
  return {
    due: (moment) => !schedule.due(moment),
    nextDue: (counters) => definition.nextOff?.(counters),
    describe: () => `not ${within(schedule, undefined)}`,
    units: schedule.units,
    state: schedule.state,
  };
}

/** The units of both of two, where both are known. */
const unitsOf = (a: Schedule<never>, b: Schedule<never>): readonly Unit[] | undefined =>
  a.units && b.units && [...new Set([...a.units, ...b.units])];

/** A part in words, in brackets where another word joins its own parts. */
function within(part: Schedule<never>, joint: Joint | undefined): string {
  const own = joints.get(part);
  return own === undefined || own === joint ? part.describe() : `(${part.describe()})`;
}

function checked<S extends Schedule<never>>(other: S, word: Joint): S {
  if (typeof other?.due === "function" && typeof other.nextDue === "function") return other;
  throw new EspalierError("SCHEDULE_INVALID", `${word}: what it was given is not a schedule`, {
    fix: `write schedule.${word}(every({ epochs: 10 })); a condition is when((context) => ...)`,
  });
}

/** The state of two parts, either of which may remember nothing. */
function jointState(a: Stateful | undefined, b: Stateful | undefined): Stateful | undefined {
  if (!a && !b) return undefined;
  return {
    getState() {
      const first = a ? a.getState() : null;
      const second = b ? b.getState() : null;
      if (first instanceof Promise || second instanceof Promise) return Promise.all([first, second]);
      return [first, second];
    },
    setState(state) {
      const [first, second] = pair(state);
      const pending = [a?.setState(first), b?.setState(second)].filter((one) => one instanceof Promise);
      return pending.length === 0 ? undefined : Promise.all(pending).then(() => undefined);
    },
  };
}

function pair(state: StateTree): readonly [StateTree, StateTree] {
  if (Array.isArray(state) && state.length === 2) return [state[0], state[1]];
  throw new EspalierError("STATE_INVALID", "this is not a state of two joined schedules", {
    fix: "restore what getState of the same schedules gave",
  });
}
