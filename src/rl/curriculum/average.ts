/**
 * A moving average after `episodes` more values whose mean is `mean`: it goes the share 1 - (1 - rate)^episodes of the
 * way. So it is where it would be if every one of them had been the mean, which is all that is known of them.
 */
export const moved = (average: number, mean: number, rate: number, episodes: number): number =>
  average + (mean - average) * (1 - (1 - rate) ** episodes);
