import { taskFailed } from "./failure.ts";
import { emit, type Run } from "./run.ts";

/**
 * Validation at the end of an epoch, for tasks that validate:
 *
 * ```
 * when config.validate is due
 *   onValidationStart
 *   metrics = task.validate()       kept in state.validation
 *   onValidationEnd
 * ```
 */
export function beginValidation(run: Run): unknown {
  const { task, config, progress } = run;
  const since = progress.occurs("validation");
  if (!task.validate || !config.validate.due({ counters: progress.counters, since })) {
    progress.next = "ramps";
    return undefined;
  }
  progress.next = "validate";
  return emit(run, "onValidationStart");
}

export async function validate(run: Run): Promise<void> {
  const { task, progress, ending, clock } = run;
  run.phase = "validation";
  await run.finite.look();
  const started = clock.now();
  try {
    progress.validation = await task.validate?.({ counters: progress.counters, signal: ending.signal });
  } catch (cause) {
    throw taskFailed("validate", progress.counters, cause);
  }
  const now = clock.now();
  run.phases.add("validation", now - started);
  progress.set({ seconds: progress.secondsAt(now) });
  progress.next = "onValidationEnd";
}

export function endValidation(run: Run): unknown {
  run.progress.next = "ramps";
  return emit(run, "onValidationEnd");
}
