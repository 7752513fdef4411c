import type { Counters, Point } from "../schedule/index.ts";
import { defaultValidate } from "./config.ts";
import { taskFailed } from "./failure.ts";
import { emit, type Run } from "./run.ts";

/**
 * Validation, for tasks that validate:
 *
 * ```
 * when config.validate is due       asked at the end of each epoch, and between batches where a count
 *                                   that it names (updates, samples, ...) has been reached
 *   onValidationStart
 *   metrics = task.validate()       kept in state.validation
 *   onValidationEnd
 * ```
 */
export function beginValidation(run: Run): unknown {
  const { task, config, progress } = run;
  const since = progress.occurs("validation");
  if (!task.validate || !config.validate.due({ counters: progress.counters, since })) {
    progress.next = afterValidation(run);
    return undefined;
  }
  progress.next = "validate";
  return emit(run, "onValidationStart");
}

export async function validate(run: Run): Promise<void> {
  const { progress, means } = run;
  await measure(run);
  if (progress.validation) means.validated(progress.validation);
  progress.next = "onValidationEnd";
}

export function endValidation(run: Run): unknown {
  run.progress.next = afterValidation(run);
  return emit(run, "onValidationEnd");
}

/**
 * Validation at the end of a run that was completed or stopped, where the newest one is not from its last update. It
 * moves neither the schedule nor ramps nor the place in the epoch, so that a run that is started again, to go further,
 * goes on as if it had not been.
 */
export async function validateAtEnd(run: Run): Promise<void> {
  const { task, config, progress, ending } = run;
  const { counters, since } = progress;
  if (!task.validate || !config.validateAtEnd || isNever(run)) return;
  if (ending.outcome === "interrupted" || counters.batches === 0) return;
  if (since.onValidationEnd && isSameWork(since.onValidationEnd, counters)) return;
  ending.complete(undefined);
  // A run that was ended within this validation has had its beginning.
  if (!since.onValidationStart || !isSameWork(since.onValidationStart, counters))
    await emit(run, "onValidationStart");
  await measure(run);
  await emit(run, "onValidationEnd");
}

/** Says so where a validation was asked for and the task cannot validate. */
export function checkValidation(run: Run): void {
  const { task, config, warn } = run;
  if (task.validate || config.validate === defaultValidate || isNever(run)) return;
  warn(
    `the config says validate: ${config.validate.describe()}, and the task has no validation data, so that nothing is validated; ` +
      "give the task validation data (supervisedTask({ validation }), train({ valData })), or write validate: never()",
  );
}

/** Whether a count between batches has been reached at which validation may be due. */
export function validationReached(run: Run, at: Counters): boolean {
  return pointsWithinEpochs(run).some(({ unit, at: point }) => (at[unit] ?? 0) >= point);
}

/** After how many repeats, each adding `adds`, such a count is reached: 1 to most. Seconds are looked at after each call. */
export function untilValidation(
  run: Run,
  at: Counters,
  adds: Readonly<Record<string, number>>,
  most: number,
): number {
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

async function measure(run: Run): Promise<void> {
  const { task, progress, ending, clock, phases } = run;
  run.phase = "validation";
  await run.finite.look();
  const started = clock.now();
  try {
    progress.validation = await task.validate?.({ counters: progress.counters, signal: ending.signal });
  } catch (cause) {
    throw taskFailed("validate", progress.counters, cause);
  }
  const now = clock.now();
  phases.add("validation", now - started);
  progress.set({ seconds: progress.secondsAt(now) });
}

/** Between batches the epoch goes on; at its end, where it counts as completed, ramps are shown what it gave. */
function afterValidation({ progress }: Run): "ramps" | "segment" {
  return progress.counters.epochs > progress.counters.epoch ? "ramps" : "segment";
}

const isNever = ({ config, progress }: Pick<Run, "config" | "progress">): boolean =>
  config.validate.nextDue(progress.start)?.length === 0;

const isSameWork = (a: Counters, b: Counters): boolean =>
  a.batches === b.batches && a.updates === b.updates && a.samples === b.samples;
