import { np, type Value, type ValueLike } from "../../engine/index.ts";

/** Running mean and variance of rows, and how many there have been: f32 [size], [size], []. */
export interface Moments<T = Value> {
  readonly mean: T;
  readonly variance: T;
  readonly count: T;
}

/**
 * Moments before anything has been seen: normalising by them changes nothing.
 *
 * @example
 * ```ts
 * const moments = compile(() => noMoments([4]))();
 * ```
 */
export const noMoments = (shape: readonly number[]): Moments => ({
  mean: np.zeros(shape),
  variance: np.ones(shape),
  count: np.zeros([]),
});

/**
 * Moments with more rows, inside `compile`: `x` is [rows..., size...], `valid` [rows...] has 1 for those that count.
 * Batches are joined as Chan, Golub and LeVeque have it, by the share that the new rows have in all: no sums that grow,
 * so that single precision does for any number of rows. Beyond some hundred million the count stands still when few
 * rows come at a time, and the moments become those of the latest.
 *
 * @example
 * ```ts
 * const next = addMoments(moments, observations, valid);
 * ```
 */
export function addMoments(moments: Moments, x: Value, valid?: Value): Moments {
  const rank = x.ndim - moments.mean.ndim;
  const axis = Array.from({ length: rank }, (_, i) => i);
  const rows = x.shape.slice(0, rank);
  const weights = valid ?? np.ones(rows);
  const spread = np.reshape(weights, [...rows, ...moments.mean.shape.map(() => 1)]);
  const added = np.sum(weights);
  const least = np.maximum(added, 1);
  const counted = (y: Value): Value => (valid ? np.where(np.notEqual(spread, 0), y, np.zerosLike(y)) : y);
  const mean = np.sum(counted(x), { axis }).div(least);
  const variance = np.sum(counted(np.square(x.sub(mean))), { axis }).div(least);
  const count = moments.count.add(added);
  const share = added.div(np.maximum(count, 1));
  const away = mean.sub(moments.mean);
  return {
    mean: moments.mean.add(away.mul(share)),
    variance: moments.variance
      .add(variance.sub(moments.variance).mul(share))
      .add(np.square(away).mul(share.mul(np.subtract(1, share)))),
    count,
  };
}

export interface NormalizeOptions {
  /** Results lie between minus this and this. Default 10. */
  readonly clip?: number | undefined;
  /** Added to the variance. Default 1e-8. */
  readonly epsilon?: number | undefined;
}

/**
 * Rows less the running mean, by the running deviation, clipped.
 *
 * @example
 * ```ts
 * const seen = normalize(observations, moments, { clip: 10 });
 * ```
 */
export function normalize(x: ValueLike, moments: Moments, options: NormalizeOptions = {}): Value {
  const { clip = 10, epsilon = 1e-8 } = options;
  const away = np.subtract(x, moments.mean);
  return np.clip(away.mul(np.rsqrt(moments.variance.add(epsilon))), -clip, clip);
}
