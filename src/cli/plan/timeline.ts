import type { PlannedHook } from "../../hooks/index.ts";
import { type Adds, advanceCounters, type Counters, type Point } from "../../schedule/index.ts";
import {
  firstCounters,
  type Segment,
  segmentsOf,
  type Task,
  type TrainerEvent,
  type TrainingConfig,
  trainerEvents,
} from "../../trainer/index.ts";

// When hooks run, without a run: the events of all epochs as the task says its segments (`layOut`), and the schedules
// asked for the points between which they are not due (`timeline`). What only the run can know (seconds, episodes,
// conditions on metrics) is said to be unknown.

/** Occurrences of an event in a row: the first at `at`, each of `count` adding `adds`. */
interface Stretch {
  readonly at: Counters;
  readonly adds: Adds;
  readonly count: number;
}

export interface Layout {
  readonly events: Readonly<Record<TrainerEvent, readonly Stretch[]>>;
  readonly start: Counters;
  readonly end: Counters;
  /** False where the run goes on beyond the epochs that are laid out. */
  readonly complete: boolean;
  /** Counters that move by amounts that are known before the run. */
  readonly foreseen: ReadonlySet<string>;
}

const once = (at: Counters): Stretch => ({ at, adds: {}, count: 1 });

const occurrence = ({ at, adds }: Stretch, index: number): Counters =>
  index === 0 ? at : advanceCounters(at, adds, index);

/**
 * Repeats, each adding `adds`, until one of the points is reached, where `done` of them came after `at`: 0 where one is
 * reached, Infinity where none will be.
 */
function repeatsUntil(points: readonly Point[], at: Counters, adds: Adds, done = 0): number {
  let least = Number.POSITIVE_INFINITY;
  for (const { unit, at: point } of points) {
    const each = adds[unit] ?? 0;
    const missing = point - (at[unit] ?? 0) - done * each;
    least = Math.min(least, missing <= 0 ? 0 : Math.ceil(missing / each));
  }
  return least;
}

/** Lays out the events of a run, `most` epochs of it. The order is that of the training loop. */
export function layOut(task: Task, config: TrainingConfig, most: number): Layout {
  const events = Object.fromEntries(trainerEvents.map((event) => [event, [] as Stretch[]])) as Record<
    TrainerEvent,
    Stretch[]
  >;
  const start = firstCounters(task);
  const foreseen = new Set(["epochs", "batches"]);
  const limits: readonly Point[] = [
    { unit: "updates", at: config.maxUpdates },
    { unit: "samples", at: config.maxSamples },
  ];
  const { validate } = config;
  let asked = start; // Where validation was last asked for.
  let at = start;
  let validated: Counters | undefined;
  const askValidation = (): void => {
    if (task.validate && validate.due({ counters: at, since: asked })) pushValidation();
    asked = at;
  };
  const pushValidation = (): void => {
    events.onValidationStart.push(once(at));
    events.onValidationEnd.push(once(at));
    validated = at;
  };
  /** Validates within a segment, at counts that the schedule names. The last repeat of an epoch is asked at its end. */
  const validateWithin = ({ adds }: Segment, repeats: number, isLast: boolean): void => {
    let left = repeats;
    for (;;) {
      const points = task.validate ? (validate.nextDue(asked) ?? []) : [];
      const within = points.filter(({ unit, at: point }) => unit !== "epochs" && point > (asked[unit] ?? 0));
      const next = Math.max(1, repeatsUntil(within, at, adds));
      if (!(next < left || (next === left && !isLast))) break;
      at = advanceCounters(at, adds, next);
      left -= next;
      askValidation();
    }
    at = advanceCounters(at, adds, left);
  };

  const isOver = (): boolean => repeatsUntil(limits, at, {}) === 0;
  events.onTrainingStart.push(once(start));
  let epochs = 0;
  for (; epochs < Math.min(config.epochs, most) && !isOver(); epochs++) {
    at = { ...at, epoch: at.epochs };
    const segments = segmentsOf(task, at).filter(({ repeats }) => repeats > 0);
    if (segments.length === 0) break;
    events.onEpochStart.push(once(at));
    const begun = at.batches;
    for (const [i, segment] of segments.entries()) {
      if (isOver()) break;
      for (const [name, amount] of Object.entries(segment.adds)) if (amount > 0) foreseen.add(name);
      const { adds, phase } = segment;
      const repeats = Math.min(segment.repeats, repeatsUntil(limits, at, adds));
      const isLast = i === segments.length - 1;
      if (phase === "train") {
        events.onBatchStart.push({ at, adds, count: repeats });
        events.onBatchEnd.push({ at: advanceCounters(at, adds, 1), adds, count: repeats });
        events.onBatchesEnd.push({ at: advanceCounters(at, adds, 1), adds, count: repeats });
        validateWithin(segment, repeats, isLast);
      } else {
        events.onRolloutStart.push(once(at));
        at = advanceCounters(at, adds, repeats - 1);
        validateWithin(segment, 1, isLast);
        events.onBatchesEnd.push(once(at));
        events.onRolloutEnd.push(once(at));
      }
    }
    if (isOver() && at.batches < begun + batchesOf(segments)) break; // It ends within the epoch.
    at = { ...at, epochs: at.epochs + 1 };
    if (at.batches > begun) events.onTrainPhaseEnd.push(once(at));
    askValidation();
    events.onEpochEnd.push(once(at));
  }
  const complete = epochs >= config.epochs || isOver() || epochs < most;
  const never = validate.nextDue(start)?.length === 0;
  if (complete && task.validate && config.validateAtEnd && !never && at.batches > 0)
    if (validated?.batches !== at.batches) pushValidation();
  if (complete) events.onTrainingEnd.push(once(at));
  return { events, start, end: at, complete, foreseen };
}

const batchesOf = (segments: readonly Segment[]): number =>
  segments.reduce((sum, { phase, repeats }) => sum + (phase === "train" ? repeats : 0), 0);

/** A hook at one of its events, over the run. */
export interface EventTimes {
  readonly event: string;
  /** Times that it runs, as far as schedules tell. */
  readonly times: number;
  /** The event is there after each call of the task, which may do many batches: then it may run less often. */
  readonly atMost: boolean;
  /** `times` was counted in part only. */
  readonly more: boolean;
  /** Times at which a condition decides: `shouldRun`, `when`. */
  readonly maybe: number;
  /** Units of its schedule that only the run can count: seconds, episodes. */
  readonly unforeseen: readonly string[];
  readonly moments: readonly Counters[];
  readonly last: Counters | undefined;
}

export interface HookTimes {
  readonly name: string;
  readonly schedule: string | undefined;
  /** The counter in which its moments are told. */
  readonly unit: string;
  readonly events: readonly EventTimes[];
  /** A letter for each part of the run: # it runs, ? it may run, . it does not. */
  readonly bar: string;
}

const MOMENTS = 20;
/** Questions to one schedule that are asked exactly; from there on one for each part of the bar. */
const MOST_ASKED = 2000;

const marks = [".", "?", "#"] as const;
const UNSURE = 1;
const SURE = 2;

/** The times of a hook. `width` is the number of parts that its bar has. */
export function timeline(hook: PlannedHook, layout: Layout, width: number): HookTimes {
  const cells = new Uint8Array(width);
  const { schedule } = hook;
  const events = hook.enabled ? hook.events.filter((event) => event !== "onError") : [];
  const unit = schedule?.units?.find((name) => layout.foreseen.has(name)) ?? usualUnit(events);
  return {
    name: hook.name,
    schedule: schedule?.describe(),
    unit,
    events: events.map((event) => timesOf(hook, event as TrainerEvent, layout, cells)),
    bar: Array.from(cells, (cell) => marks[cell]).join(""),
  };
}

const usualUnit = (events: readonly string[]): string =>
  events.some((event) => event.startsWith("onBatch")) ? "batches" : "epochs";

function timesOf(hook: PlannedHook, event: TrainerEvent, layout: Layout, cells: Uint8Array): EventTimes {
  const { schedule } = hook;
  const stretches = layout.events[event];
  const batches = layout.end.batches / cells.length;
  // An end belongs to the work before it.
  const early = /Start$|^onRollout/.test(event);
  const cell = (at: Counters): number =>
    Math.min(
      Math.max(early ? Math.floor(at.batches / batches) : Math.ceil(at.batches / batches) - 1, 0),
      cells.length - 1,
    );
  const mark = (from: number, to: number, sure: number): void => {
    for (let i = from; i <= to; i++) cells[i] = Math.max(cells[i] ?? 0, sure);
  };
  const moments: Counters[] = [];
  const unforeseen = new Set<string>();
  let [times, maybe, asks, more] = [0, 0, 0, false];
  let last: Counters | undefined;
  /** It runs at `count` occurrences from `at` on, the last at `end`. */
  const runs = (at: Counters, end: Counters, count: number, sure: boolean): void => {
    if (sure) times += count;
    else maybe += count;
    last = end;
    mark(cell(at), cell(end), sure ? SURE : UNSURE);
  };

  let since = event.endsWith("Start") ? undefined : layout.start;
  let points = since && pointsOf(hook, since);
  for (const stretch of stretches) {
    const { count, adds } = stretch;
    const end = occurrence(stretch, count - 1);
    if (!schedule) {
      for (let i = 0; i < count && moments.length < MOMENTS; i++) moments.push(occurrence(stretch, i));
      runs(stretch.at, end, count, !hook.conditional);
    }
    for (let i = 0; schedule && i < count; i++) {
      const skip = points ? repeatsUntil(points, stretch.at, adds, i) : 0;
      for (const { unit } of points ?? []) if (!layout.foreseen.has(unit)) unforeseen.add(unit);
      if (skip >= count - i) break;
      i += skip;
      let now = occurrence(stretch, i);
      const due = isDue(hook, now, i > 0 ? occurrence(stretch, i - 1) : since);
      if (due !== false) {
        if (moments.length < MOMENTS) moments.push(now);
        runs(now, now, 1, due === true && !hook.conditional);
      }
      if (++asks > MOST_ASKED && batches >= 2) {
        more = true;
        i = Math.min(count - 1, i + Math.floor(batches) - 1);
        now = occurrence(stretch, i);
      }
      points = pointsOf(hook, now);
    }
    since = end;
  }
  const [first, final] = [stretches[0], stretches.at(-1)];
  if (unforeseen.size > 0 && first && final) mark(cell(first.at), cell(since ?? final.at), UNSURE);
  const atMost = event === "onBatchesEnd";
  return { event, times, atMost, more, maybe, unforeseen: [...unforeseen], moments, last };
}

/** The points that a hook waits for; undefined where they cannot be known. */
function pointsOf({ schedule }: PlannedHook, at: Counters): readonly Point[] | undefined {
  try {
    return schedule?.nextDue(at);
  } catch {
    return undefined;
  }
}

/** Undefined where a condition needs more than counters. */
function isDue(
  { schedule }: PlannedHook,
  counters: Counters,
  since: Counters | undefined,
): boolean | undefined {
  try {
    return schedule?.due({ counters, since } as never);
  } catch {
    return undefined;
  }
}
