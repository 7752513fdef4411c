import { EspalierError } from "../../core/index.ts";

/** How long a run is: batches in all, and how many were done when each epoch began. */
export interface Course {
  readonly batches: number;
  readonly epochStarts: readonly number[];
}

/** A kill: after which batch, and after which one a checkpoint is taken before it. */
export interface Kill {
  readonly at: number;
  readonly save: number;
  /** The epoch it falls into, from 0, and its batches before and after the kill. */
  readonly epoch: number;
  readonly before: number;
  readonly after: number;
}

/**
 * Chooses where to kill: after the given batches, or once in the middle of the epoch about half-way. The checkpoint
 * before it lies in the same epoch where that has two batches, so that the run resumes in the middle of it, too.
 */
export function planKills(course: Course, given?: readonly number[]): readonly Kill[] {
  const { batches, epochStarts } = course;
  if (batches < 2)
    throw new EspalierError("PROOF_TOO_SHORT", `the run has ${batches} batches: there is no middle`, {
      fix: "give more data, smaller batches or more epochs",
    });
  const chosen = given ?? [middleOf(course, Math.floor(epochStarts.length / 2))];
  for (const at of chosen)
    if (!Number.isSafeInteger(at) || at < 1 || at >= batches)
      throw new EspalierError("KILL_INVALID", `there is no kill after batch ${at}: the run has ${batches}`, {
        fix: `give whole numbers from 1 to ${batches - 1}`,
      });
  return [...new Set(chosen)].sort((a, b) => a - b).map((at) => killAt(course, at));
}

const endOf = ({ batches, epochStarts }: Course, epoch: number): number => epochStarts[epoch + 1] ?? batches;

function middleOf(course: Course, epoch: number): number {
  const start = course.epochStarts[epoch] ?? 0;
  const length = endOf(course, epoch) - start;
  return Math.min(start + Math.max(1, Math.ceil(length * 0.6)), course.batches - 1);
}

function killAt(course: Course, at: number): Kill {
  // Batch `at` is done: it belongs to the last epoch that began before it.
  const epoch = course.epochStarts.findLastIndex((start) => start < at);
  const before = at - (course.epochStarts[epoch] ?? 0);
  const after = endOf(course, epoch) - at;
  return { at, save: Math.max(1, at - Math.max(1, Math.floor(before / 2))), epoch, before, after };
}
