import { EspalierError } from "../core/index.ts";
import type { Counters } from "../schedule/index.ts";

/** A task's failure with the place where it happened; errors of ours say enough and stay as they are. */
export function taskFailed(what: "run" | "validate" | "epoch", at: Counters, cause: unknown): unknown {
  if (cause instanceof EspalierError) return cause;
  const message = cause instanceof Error ? cause.message : String(cause);
  return new EspalierError(
    "TASK_FAILED",
    `the task's ${what} failed in epoch ${at.epoch} after ${at.batches} batches: ${message}`,
    { cause, fix: "see the cause; the task must give a report or throw an error that says what to do" },
  );
}

/** A place restored from a state that the task's epoch does not have. */
export const placeMissing = (segment: number, repeat: number, at: Counters): EspalierError =>
  new EspalierError(
    "STATE_INVALID",
    `the restored state is in epoch ${at.epoch}, segment ${segment}, after ${repeat} repeats, where the task's epoch has nothing to do`,
    { fix: "restore it with the data and batch size it was taken with, or restore the parameters alone" },
  );

export const epochEmpty = (at: Counters): EspalierError =>
  new EspalierError("EPOCH_EMPTY", `epoch ${at.epoch} has no batches: the task has no data`, {
    fix: 'give the task data, or set onEmpty: "finish" to end the run there',
  });
