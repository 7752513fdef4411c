/** A window's middle, and the loss above which one is a spike. */
export interface Limit {
  readonly median: number;
  readonly limit: number;
}

/** Differences from what is usual that are too small to be anything. */
const smallest = 1e-6;

/**
 * Above what a loss is a spike, after these. Where all of them are positive: `factor` times their median. The median
 * and not the mean, because the spike before would raise the mean for as long as it is in the window and hide the next;
 * and a loss that has moved for good becomes the usual one when half of the window is past the move.
 *
 * Where some are 0 or negative, a multiple says nothing (twice -5 lies below it). Then it is the median and `factor - 1`
 * times a size: that of the median itself, or six times the median distance from it where that is more, which of
 * noise around 0 is four standard deviations.
 */
export function limitOf(losses: readonly number[], factor: number): Limit {
  const median = medianOf(losses);
  if (losses.every((loss) => loss > 0)) return { median, limit: factor * median };
  const spread = 6 * medianOf(losses.map((loss) => Math.abs(loss - median)));
  return { median, limit: median + (factor - 1) * Math.max(Math.abs(median), spread, smallest) };
}

function medianOf(numbers: readonly number[]): number {
  const sorted = Float64Array.from(numbers).sort();
  const middle = sorted.length >> 1;
  const upper = sorted[middle] as number;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] as number) + upper) / 2;
}
