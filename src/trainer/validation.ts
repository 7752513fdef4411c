import { type Adds, type Counters, isSameWork, type Point } from "../schedule/index.ts";
import { defaultValidate } from "./config.ts";
import type { Run } from "./run.ts";
import { taskFailed } from "./task.ts";

// Validation, for tasks that validate: when it is due, how it is measured, and the one at the end of a run. The loop
// asks at the end of each epoch, and between batches where a count that `config.validate` names has been reached.

/** True where the loop is to validate now. Asking is the moment that the schedule's next one looks back to. */
export function validationDue({ task, config, progress }: Run): boolean {
  const since = progress.occurs("validation");
  return task.validate !== undefined && config.validate.due({ counters: progress.counters, since });
}

/** Has the task validate. */
export async function measure(run: Run): Promise<void> {
  const { task, progress, ending, clock, timings } = run;
  run.enter("validation");
  await run.finite.look();
  const started = clock.now();
  let metrics: Readonly<Record<string, number>> | undefined;
  try {
    metrics = await task.validate?.({ counters: progress.counters, signal: ending.signal });
  } catch (cause) {
    throw taskFailed("validate", progress.counters, cause);
  }
  const now = clock.now();
  timings.add("validation", now - started);
  progress.validated(metrics, now);
}

/**
 * Validates at the end of a run that was completed or stopped, where the newest validation is not from its last update.
 * It moves neither the schedule nor ramps nor the position in the epoch, so that a run that is started again, to go
 * further, goes on as if it had not been.
 */
export async function validateAtEnd(run: Run): Promise<void> {
  const { task, config, progress, ending } = run;
  const { counters, since } = progress;
  if (!task.validate || !config.validateAtEnd || validatesNever(run)) return;
  if (ending.outcome === "interrupted" || counters.batches === 0) return;
  if (since.onValidationEnd && isSameWork(since.onValidationEnd, counters)) return;
  ending.complete(undefined);
  run.atEnd = true;
  // A run that was ended within this validation has had its beginning.
  if (!since.onValidationStart || !isSameWork(since.onValidationStart, counters))
    await run.emit("onValidationStart");
  await measure(run);
  await run.emit("onValidationEnd");
  run.atEnd = false;
}

/** Warns where the config asks for validation and the task cannot validate. */
export function checkValidation(run: Run): void {
  const { task, config, warn } = run;
  if (task.validate || config.validate === defaultValidate || validatesNever(run)) return;
  warn(
    `the config says validate: ${config.validate.describe()}, and the task has no validation data, so that nothing is validated; ` +
      "give the task validation data (supervisedTask({ validation }), train({ valData })), or write validate: never()",
  );
}

const validatesNever = ({ config, progress }: Run): boolean =>
  config.validate.nextDue(progress.start)?.length === 0;

/** True where a count between batches has been reached at which validation may be due. */
export function validationReached(run: Run, at: Counters): boolean {
  return pointsWithinEpochs(run).some(({ unit, at: point }) => (at[unit] ?? 0) >= point);
}

/** True where validation may be due at the end of an epoch, at these counters. */
export function validationMayBeDue({ task, config, progress }: Run, at: Counters): boolean {
  if (!task.validate) return false;
  const since = progress.before("validation");
  const points = since && config.validate.nextDue(since);
  return !points || points.some(({ unit, at: point }) => unit === "seconds" || (at[unit] ?? 0) >= point);
}

/** Repeats, each adding `adds`, until such a count is reached: 1 to most. Seconds are looked at after each call. */
export function untilValidation(run: Run, at: Counters, adds: Adds, most: number): number {
  let least = most;
  for (const { unit, at: point } of pointsWithinEpochs(run)) {
    const missing = point - (at[unit] ?? 0);
    if (unit !== "seconds") least = Math.min(least, missing > 0 ? Math.ceil(missing / (adds[unit] ?? 0)) : 1);
  }
  return least;
}

/**
 * The counts within epochs that must be reached before validation can be due. A schedule that is due at every moment
 * (`cycle`, `between`, `when`) has none: it is asked at the end of epochs.
 */
function pointsWithinEpochs({ task, config, progress }: Run): readonly Point[] {
  if (!task.validate) return none;
  const since = progress.before("validation");
  const known = since && found.get(since);
  if (known?.schedule === config.validate) return known.points;
  const points = (since && config.validate.nextDue(since)) ?? none;
  const within = points.filter(({ unit, at }) => unit !== "epochs" && at > (since?.[unit] ?? 0));
  if (since) found.set(since, { schedule: config.validate, points: within });
  return within;
}

const none: readonly Point[] = [];
const found = new WeakMap<
  Counters,
  { readonly schedule: Run["config"]["validate"]; readonly points: readonly Point[] }
>();
