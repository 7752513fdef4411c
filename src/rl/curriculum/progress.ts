/** The numbers in the formulas of learning progress. */
export interface ProgressNumbers {
  /** A score that counts as 0: what chance gives. */
  readonly baseline: number;
  readonly smoothing: number;
  readonly bonus: number;
  readonly least: number;
}

/** A score from 0 to 1 as it is averaged: 0 at the baseline, 1 at 1. */
export const normalised = (score: number, baseline: number): number =>
  (Math.min(Math.max(score, 0), 1) - baseline) / (1 - baseline);

/**
 * Spreads averages near 0, where small steps are great progress: x (1 - th) / (x + th (1 - 2x)). The formula is for 0
 * to 1. Below 0 it has a pole, so what lies there is spread as far to the other side.
 */
export function reweighted(x: number, smoothing: number): number {
  const size = Math.abs(x);
  return (Math.sign(x) * size * (1 - smoothing)) / (size + smoothing * (1 - 2 * size));
}

/** max(|fast - slow| + bonus max(fast, 0), least), of averages that have been reweighted. */
export function rawProgress(fast: number, slow: number, numbers: ProgressNumbers): number {
  const { smoothing, bonus, least } = numbers;
  const [quick, steady] = [reweighted(fast, smoothing), reweighted(slow, smoothing)];
  return Math.max(Math.abs(quick - steady) + bonus * Math.max(quick, 0), least);
}

/** Shares by progress: a z-score where there are more than two lessons, a sigmoid, made to sum to 1. */
export function progressShares(raw: readonly number[]): readonly number[] {
  const squashed = (raw.length > 2 ? zScores(raw) : raw).map((x) => 1 / (1 + Math.exp(-x)));
  const sum = squashed.reduce((all, x) => all + x, 0);
  return squashed.map((x) => x / sum);
}

function zScores(numbers: readonly number[]): readonly number[] {
  const mean = numbers.reduce((sum, x) => sum + x, 0) / numbers.length;
  const deviation = Math.sqrt(numbers.reduce((sum, x) => sum + (x - mean) ** 2, 0) / numbers.length);
  // Rounding alone may leave equal numbers a deviation.
  return numbers.map((x) => (deviation > 1e-12 ? (x - mean) / deviation : 0));
}
