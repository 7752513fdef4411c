import type { Curriculum, LessonResult } from "./curriculum.ts";

/** A result, by default of one episode; positive where its return is. */
export const result = (lesson: number, mean: number, more: Partial<LessonResult> = {}): LessonResult => ({
  ...{ lesson, episodes: 1, return: mean, positive: mean > 0 ? 1 : 0 },
  ...more,
});

/** Numbers from 0 to 1 that look random, the same each time. */
export function numbers(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

export function draw(shares: Float32Array, random: number): number {
  let left = random;
  for (const [i, share] of shares.entries()) {
    left -= share;
    if (left < 0) return i;
  }
  return shares.findLastIndex((share) => share > 0);
}

/**
 * Somebody who learns a chain of lessons: an episode of a lesson makes its skill better by a step, but only if the
 * skill before it is good. Gives the skills after so many rollouts of 16 episodes each.
 */
export function learn(curriculum: Curriculum, rollouts: number, seed = 1): readonly number[] {
  const random = numbers(seed);
  const skills = curriculum.lessons.map(() => 0);
  for (let rollout = 0; rollout < rollouts; rollout++) {
    const counts = curriculum.lessons.map(() => ({ episodes: 0, wins: 0 }));
    for (let episode = 0; episode < 16; episode++) {
      const lesson = draw(curriculum.shares(), random());
      const count = counts[lesson] as { episodes: number; wins: number };
      count.episodes++;
      if (random() < (skills[lesson] as number)) count.wins++;
      if (lesson === 0 || (skills[lesson - 1] as number) > 0.85)
        skills[lesson] = Math.min(1, (skills[lesson] as number) + 0.01);
    }
    curriculum.trained(
      counts.flatMap(({ episodes, wins }, lesson) =>
        episodes === 0 ? [] : [{ lesson, episodes, return: wins / episodes, positive: wins / episodes }],
      ),
    );
  }
  return skills;
}

/** Draws all lessons equally often. */
export const evenly = (lessons: readonly string[]): Curriculum => ({
  lessons,
  shares: () => new Float32Array(lessons.length).fill(1 / lessons.length),
  trained: () => undefined,
  evaluated: () => undefined,
  metrics: () => ({}),
  getState: () => ({}),
  setState: () => undefined,
});
