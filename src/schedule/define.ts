import { EspalierError, shown } from "../core/index.ts";
import type { Stateful } from "../state/index.ts";
import type { Counters, Unit } from "./counters.ts";
import { jointState } from "./joint-state.ts";
import { later, type Points, sooner } from "./points.ts";
import type { Moment, Schedule } from "./schedule.ts";

/** What a schedule consists of; `and`, `or` and `not` follow from it. */
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
