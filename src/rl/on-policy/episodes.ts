import type { LessonResult } from "../curriculum/curriculum.ts";
import type { EpisodeEnd } from "../vector/vector.ts";

/** Means over the episodes of the last rollout in which one ended; NaN before the first. */
export interface EpisodeMeans {
  readonly return: number;
  readonly length: number;
}

export const noMeans: EpisodeMeans = { return: Number.NaN, length: Number.NaN };

/** Means over episodes that ended, or those before where none did. */
export function meansOf(ended: readonly EpisodeEnd[], before: EpisodeMeans): EpisodeMeans {
  if (ended.length === 0) return before;
  return { return: meanOf(ended, (end) => end.return), length: meanOf(ended, (end) => end.length) };
}

/** Episodes that ended, by lesson. */
export function lessonResults(ended: readonly EpisodeEnd[]): readonly LessonResult[] {
  const byLesson = new Map<number, EpisodeEnd[]>();
  for (const end of ended) byLesson.set(end.lesson, [...(byLesson.get(end.lesson) ?? []), end]);
  return [...byLesson]
    .sort(([a], [b]) => a - b)
    .map(([lesson, ends]) => ({
      lesson,
      episodes: ends.length,
      return: meanOf(ends, (end) => end.return),
      positive: meanOf(ends, (end) => (end.return > 0 ? 1 : 0)),
    }));
}

const meanOf = (ends: readonly EpisodeEnd[], of: (end: EpisodeEnd) => number): number =>
  ends.reduce((sum, end) => sum + of(end), 0) / ends.length;
