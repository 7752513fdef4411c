import type { LessonResult } from "../curriculum/curriculum.ts";
import type { EpisodeEnd } from "../vector/vector.ts";

/** What a rollout reports of the episodes that ended in it: how many, and their means; NaN where none did. */
export const episodeValues = (ended: readonly EpisodeEnd[]): Readonly<Record<string, number>> => ({
  episodes: ended.length,
  "episode.return": meanOf(ended, (end) => end.return),
  "episode.length": meanOf(ended, (end) => end.length),
});

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
