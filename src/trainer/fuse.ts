import { type Adds, advanceCounters, type Counters } from "../schedule/index.ts";
import type { TrainingConfig } from "./config.ts";
import type { TrainerEvent } from "./events.ts";
import type { Run } from "./run.ts";
import { firstBusy, isEmpty, type Segment, type Span, segmentsOf } from "./task.ts";
import { untilValidation, validationMayBeDue, validationReached } from "./validation.ts";

/**
 * The work of the next call: as many repeats as may run before a hook may be due, into further segments and epochs where
 * the task can go on by itself. For every event that lies between, surely no hook is due.
 */
export function nextSpans(run: Run, segments: readonly Segment[]): readonly Span[] {
  const { progress, config } = run;
  const { segment: index, repeat: from, counters } = progress;
  const segment = segments[index] as Segment;
  const most = typeof config.fuse === "number" ? config.fuse : config.fuse ? Number.POSITIVE_INFINITY : 1;
  // A run that is to end goes on only to a position that other ranks have come to.
  if (most === 1 || segment.maxFuse === 1 || run.ending.asked)
    return [{ segment, index, from, count: 1, at: counters }];

  const spans: Span[] = [];
  let room = most;
  let total = 0;
  let here: Position | undefined = { segments, index, from, at: counters, unknown: [] };
  while (here) {
    const { index, from, at }: Position = here;
    const segment = segmentAt(here);
    room = Math.min(room, segment.maxFuse);
    if (total >= room) break;
    const left = Math.min(segment.repeats - from, room - total);
    const count = untilWatched(run, segment, asSchedulesSee(here), untilRampsChange(run, segment, left));
    spans.push({ segment, index, from, count, at });
    total += count;
    here =
      from + count === segment.repeats && segment.fusesWithNext ? afterSegment(run, here, count) : undefined;
  }
  return spans;
}

/** A position within the call that is being planned. */
interface Position {
  readonly segments: readonly Segment[];
  readonly index: number;
  readonly from: number;
  readonly at: Counters;
  /** Counters that rollouts of the same call move by amounts that are not known yet: in `at` they stand still. */
  readonly unknown: readonly string[];
}

const segmentAt = ({ segments, index }: Position): Segment => segments[index] as Segment;

/** Counters as schedules are asked: unknown ones may be anywhere, so they are infinite. */
const asSchedulesSee = ({ at, unknown }: Pick<Position, "at" | "unknown">): Counters =>
  unknown.length === 0
    ? at
    : { ...at, ...Object.fromEntries(unknown.map((name) => [name, Number.POSITIVE_INFINITY])) };

/** Counters of the task's own that a segment moves by amounts known only afterwards. */
const unknownCounters = ({ task }: Run, { phase, adds }: Segment): readonly string[] =>
  phase === "rollout" && task.counters ? task.counters.filter((name) => !(name in adds)) : [];

/** Repeats of a segment, `left` at most, until ramps may depend on a counter that is not known yet. */
function untilRampsChange(run: Run, segment: Segment, left: number): number {
  if (left === 1) return 1;
  const unknown = unknownCounters(run, segment);
  return unknown.length > 0 && run.ramps.read(unknown) ? 1 : left;
}

/** Repeats of a segment until a hook of its events or a validation may be due, or a limit is reached. */
function untilWatched(run: Run, { phase, adds }: Segment, at: Counters, most: number): number {
  const limited = untilValidation(run, at, adds, untilLimit(run.config, at, adds, most));
  if (phase === "rollout" || limited === 1) return limited;
  const { hooks, progress } = run;
  const end = hooks.untilDue("onBatchEnd", at, adds, limited, progress.before("onBatchEnd"));
  if (end === 1) return 1;
  const start = hooks.untilDue("onBatchStart", at, adds, limited, progress.before("onBatchStart"));
  return Math.min(limited, end, start);
}

/** The position after the last repeats of a segment, or undefined where a call cannot go on across it. */
function afterSegment(run: Run, here: Position, count: number): Position | undefined {
  const segment = segmentAt(here);
  const unknown = [...new Set([...here.unknown, ...unknownCounters(run, segment)])];
  const at = advanceCounters(here.at, segment.adds, count);
  if (unknown.length > here.unknown.length && run.ramps.read(unknown)) return undefined;
  if (mayBeDue(run, segment.phase === "rollout" ? "onRolloutEnd" : "onBatchEnd", { at, unknown }))
    return undefined;
  if (limitReached(run.config, at) || validationReached(run, asSchedulesSee({ at, unknown })))
    return undefined;
  const index = firstBusy(here.segments, here.index + 1);
  const next =
    index < here.segments.length
      ? { ...here, index, from: 0, at, unknown }
      : nextEpoch(run, { ...here, at, unknown });
  if (!next) return undefined;
  const begins = segmentAt(next).phase === "rollout" ? "onRolloutStart" : "onBatchStart";
  return mayBeDue(run, begins, next) ? undefined : next;
}

/** The first position of the epoch after an ended one, or undefined where a call cannot go on into it. */
function nextEpoch(run: Run, { segments, at, unknown }: Position): Position | undefined {
  const { config, task, means } = run;
  if (means.followed) return undefined; // A ramp may change with this epoch's metrics.
  const ended = { ...at, epochs: at.epochs + 1 };
  if (
    segments.some(({ phase }) => phase === "train") &&
    mayBeDue(run, "onTrainPhaseEnd", { at: ended, unknown })
  )
    return undefined;
  if (validationMayBeDue(run, asSchedulesSee({ at: ended, unknown }))) return undefined;
  if (mayBeDue(run, "onEpochEnd", { at: ended, unknown }) || ended.epochs >= config.epochs) return undefined;
  const begun = { ...ended, epoch: ended.epochs };
  if (mayBeDue(run, "onEpochStart", { at: begun, unknown })) return undefined;
  const following = segmentsOf(task, begun);
  if (isEmpty(following)) return undefined;
  return { segments: following, index: firstBusy(following, 0), from: 0, at: begun, unknown };
}

/** True where a hook of the event may be due. How many seconds will have passed is not known, so any number may have. */
const mayBeDue = (run: Run, event: TrainerEvent, position: Pick<Position, "at" | "unknown">): boolean =>
  run.hooks.mayRun(
    event,
    { ...asSchedulesSee(position), seconds: Number.POSITIVE_INFINITY },
    run.progress.before(event),
  );

/** The limit that has been reached, in words. */
export function limitReached(config: TrainingConfig, counters: Counters): string | undefined {
  if (counters.updates >= config.maxUpdates) return `maxUpdates of ${config.maxUpdates} reached`;
  if (counters.samples >= config.maxSamples) return `maxSamples of ${config.maxSamples} reached`;
  if (counters.seconds >= config.maxSeconds) return `maxSeconds of ${config.maxSeconds} reached`;
  return undefined;
}

/** Repeats until a limit is reached: 1 to most. Seconds are looked at after each call. */
function untilLimit(config: TrainingConfig, at: Counters, adds: Adds, most: number): number {
  const updates = (config.maxUpdates - at.updates) / (adds.updates ?? 0);
  const samples = (config.maxSamples - at.samples) / (adds.samples ?? 0);
  return Math.max(1, Math.min(most, Math.ceil(updates), Math.ceil(samples)));
}
