/** What of a lesson decides how often it comes. */
export interface LessonStanding {
  readonly score: number;
  readonly episodes: number;
}

/**
 * Shares of lessons: w = max(0, 4s - 4s^2) (1 + e^(-fading n)) made to sum to 1, none below the floor, made to sum to 1
 * again. What is half known comes most often, and what is new more often than what is not.
 */
export function lessonShares(
  lessons: readonly LessonStanding[],
  fading: number,
  floor: number,
): readonly number[] {
  const weights = lessons.map(
    ({ score, episodes }) => Math.max(0, 4 * score - 4 * score * score) * (1 + Math.exp(-fading * episodes)),
  );
  const sum = total(weights);
  const raised = weights.map((weight) => Math.max(sum > 0 ? weight / sum : 0, floor));
  const all = total(raised);
  // Without a floor, lessons that are all known or all unknown come equally often.
  return raised.map((share) => (all > 0 ? share / all : 1 / lessons.length));
}

const total = (numbers: readonly number[]): number => numbers.reduce((sum, number) => sum + number, 0);
