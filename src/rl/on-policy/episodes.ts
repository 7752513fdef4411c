import { type RolloutStats, rolloutStats, type TrainerHook } from "../../trainer/index.ts";
import type { LessonResult } from "../curriculum/curriculum.ts";
import type { EpisodeEnd } from "../vector/vector.ts";

/** What a rollout reports of the episodes that ended in it: how many, and their means; NaN where none did. */
export const episodeValues = (ended: readonly EpisodeEnd[]): Readonly<Record<string, number>> => ({
  episodes: ended.length,
  "episode.return": meanOf(ended, (end) => end.return),
  "episode.length": meanOf(ended, (end) => end.length),
});

/** Means of what steps had in their `info`, as a rollout reports them. */
export const infoValues = (infos: Readonly<Record<string, number>> = {}): Readonly<Record<string, number>> =>
  Object.fromEntries(Object.entries(infos).map(([name, mean]) => [`info.${name}`, mean]));

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

/**
 * What a task's last rollout was like, and the hook that provides it in the slot `rolloutStats`. The hook sets it when a
 * call of the task is over and watches nothing, so that it never prevents fusing: at every event that a hook looks at,
 * the slot holds the rollout before it, however the work is cut.
 */
export class RolloutFigures {
  #latest: RolloutStats | undefined;
  readonly hook: TrainerHook = {
    name: "rolloutStats",
    provides: [rolloutStats],
    ranks: "all",
    onBatchesEnd: ({ slots }) => {
      if (this.#latest) slots.set(rolloutStats, this.#latest);
      this.#latest = undefined;
    },
  };

  /** A rollout is over. What is not finite is left out: means of episodes where none ended. */
  tell(figures: Readonly<Record<string, number>>): void {
    const finite = Object.entries(figures).filter(([, value]) => Number.isFinite(value));
    // In single precision, as metrics are.
    this.#latest = Object.fromEntries(finite.map(([name, value]) => [name, Math.fround(value)]));
  }
}
