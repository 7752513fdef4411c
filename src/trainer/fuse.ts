import { advanceCounters, type Counters, type Schedule } from "../schedule/index.ts";
import type { TrainerEvent } from "./events.ts";
import { limitReached, untilLimit } from "./limits.ts";
import type { Run } from "./run.ts";
import { isEmpty, segmentsOf } from "./segments.ts";
import type { Segment, Span } from "./task.ts";
import { untilValidation, validationReached } from "./validation-loop.ts";

/**
 * What the next call does: as many repeats as may run before somebody watches, into further segments and epochs where
 * the task can go on by itself. Every event that lies between must be one for which surely no hook is due.
 */
export function nextSpans(run: Run, segments: readonly Segment[]): readonly Span[] {
  const { progress, config } = run;
  const { segment: index, repeat: from, counters } = progress;
  const segment = segments[index] as Segment;
  const most = typeof config.fuse === "number" ? config.fuse : config.fuse ? Number.POSITIVE_INFINITY : 1;
  // A run that is to end goes on only to a place that other ranks have come to.
  if (most === 1 || segment.maxFuse === 1 || run.ending.asked)
    return [{ segment, index, from, count: 1, at: counters }];

  const spans: Span[] = [];
  let room = most;
  let total = 0;
  let here: Where | undefined = { segments, index, from, at: counters, unforeseen: [] };
  while (here) {
    const { segment, from, at } = current(here);
    room = Math.min(room, segment.maxFuse);
    if (total >= room) break;
    const left = Math.min(segment.repeats - from, room - total);
    const count = untilWatched(run, segment, seen(here), atMost(run, segment, at, left));
    spans.push({ segment, index: here.index, from, count, at });
    total += count;
    here = from + count === segment.repeats && segment.fusesWithNext ? goOn(run, here, count) : undefined;
  }
  return spans;
}

interface Where {
  readonly segments: readonly Segment[];
  readonly index: number;
  readonly from: number;
  readonly at: Counters;
  /** Counters that rollouts of the same call move by amounts nobody knows yet: in `at` they stand still. */
  readonly unforeseen: readonly string[];
}

/** Counters as schedules are asked: how far those that cannot be foreseen will be is not known, so anywhere. */
const seen = ({ at, unforeseen }: Pick<Where, "at" | "unforeseen">): Counters =>
  unforeseen.length === 0
    ? at
    : { ...at, ...Object.fromEntries(unforeseen.map((name) => [name, Number.POSITIVE_INFINITY])) };

/** Counters of the task's own that a rollout moves without having said by how much. */
const unforeseenIn = ({ task }: Run, { phase, adds }: Segment): readonly string[] =>
  phase === "rollout" && task.counters ? task.counters.filter((name) => !(name in adds)) : [];

/** Repeats of a segment until ramps may depend on what is found out only then. */
function atMost(run: Run, segment: Segment, at: Counters, left: number): number {
  if (left === 1) return 1;
  const unforeseen = unforeseenIn(run, segment);
  return unforeseen.length > 0 && run.ramps.follow(unforeseen, at) ? 1 : left;
}

const current = ({ segments, index, from, at }: Omit<Where, "unforeseen">) => ({
  segment: segments[index] as Segment,
  from,
  at,
});

/** Repeats of a segment until an event of theirs or a validation may be due, or a limit is reached. */
function untilWatched(run: Run, { phase, adds }: Segment, at: Counters, most: number): number {
  const limited = untilValidation(run, at, adds, untilLimit(run.config, at, adds, most));
  if (phase === "rollout" || limited === 1) return limited;
  const { hooks, progress } = run;
  const end = hooks.untilDue("onBatchEnd", at, adds, limited, progress.before("onBatchEnd"));
  if (end === 1) return 1;
  const start = hooks.untilDue("onBatchStart", at, adds, limited, progress.before("onBatchStart"));
  return Math.min(limited, end, start);
}

/** The beginning of what follows a segment, where nobody watches its end, that beginning, or anything between. */
function goOn(run: Run, here: Where, count: number): Where | undefined {
  const { segment } = current(here);
  const unforeseen = [...new Set([...here.unforeseen, ...unforeseenIn(run, segment)])];
  const at = advanceCounters(here.at, segment.adds, count);
  if (unforeseen.length > here.unforeseen.length && run.ramps.follow(unforeseen, at)) return undefined;
  const look = (event: TrainerEvent, counters: Counters): boolean =>
    watched(run, event, seen({ at: counters, unforeseen }));
  if (look(segment.phase === "rollout" ? "onRolloutEnd" : "onBatchEnd", at)) return undefined;
  if (limitReached(run.config, at) || validationReached(run, seen({ at, unforeseen }))) return undefined;
  const index = firstBusy(here.segments, here.index + 1);
  const within = index < here.segments.length;
  const next = within ? { ...here, index, from: 0, at } : nextEpoch(run, here, at, unforeseen, look);
  if (!next) return undefined;
  const { phase } = current(next).segment;
  if (look(phase === "rollout" ? "onRolloutStart" : "onBatchStart", next.at)) return undefined;
  return { ...next, unforeseen };
}

function nextEpoch(
  run: Run,
  { segments }: Where,
  at: Counters,
  unforeseen: readonly string[],
  look: (event: TrainerEvent, counters: Counters) => boolean,
): Omit<Where, "unforeseen"> | undefined {
  const { config, task, means, progress } = run;
  if (means.followed) return undefined; // A ramp may change with what this epoch gave.
  const done = { ...at, epochs: at.epochs + 1 };
  if (segments.some(({ phase }) => phase === "train") && look("onTrainPhaseEnd", done)) return undefined;
  const validation = seen({ at: done, unforeseen });
  if (task.validate && mayBeDue(config.validate, progress.before("validation"), validation)) return undefined;
  if (look("onEpochEnd", done) || done.epochs >= config.epochs) return undefined;
  const begun = { ...done, epoch: done.epochs };
  if (look("onEpochStart", begun)) return undefined;
  const following = segmentsOf(task, begun);
  if (isEmpty(following)) return undefined;
  return { segments: following, index: firstBusy(following, 0), from: 0, at: begun };
}

/** Whether a hook may be due. How many seconds will have passed then is not known, so that all may have. */
const watched = (run: Run, event: TrainerEvent, at: Counters): boolean =>
  run.hooks.mayRun(event, { ...at, seconds: Number.POSITIVE_INFINITY }, run.progress.before(event));

function mayBeDue(schedule: Schedule, since: Counters | undefined, at: Counters): boolean {
  const points = since && schedule.nextDue(since);
  return !points || points.some(({ unit, at: point }) => unit === "seconds" || (at[unit] ?? 0) >= point);
}

/** The first segment from an index on that has anything to do. */
export function firstBusy(segments: readonly Segment[], from: number): number {
  let index = from;
  while (segments[index]?.repeats === 0) index++;
  return index;
}
