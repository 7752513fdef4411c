import { np, random, type Value, type ValueLike } from "../../engine/index.ts";

/** Options of {@link prioritizedSegments}. */
export interface PrioritizedSegmentsOptions {
  /** Segments to draw. */
  readonly count: number;
  /** The exponent of priorities: 0 draws uniformly, 1 in proportion. Default: 0.8. */
  readonly alpha?: ValueLike | undefined;
  /** The exponent of the importance correction: 0 for none, 1 for all of it. Default: 0.2. */
  readonly beta?: ValueLike | undefined;
}

/** Segments drawn by {@link prioritizedSegments}. */
export interface DrawnSegments {
  /** i32 [count]. */
  readonly indices: Value;
  /** The factor of each segment's advantages: f32 [count]. */
  readonly importance: Value;
}

/**
 * Draws segments of experience with replacement, more often the larger their advantages are, inside `compile`.
 * `sizes` [segments] are the sums of absolute advantages. With w = sizes^alpha a segment has the probability
 * p = (w + 1e-6) / (sum w + 1e-6) and the importance (segments p)^-beta.
 *
 * @example
 * ```ts
 * const sizes = np.sum(np.absolute(advantages), { axis: 0 }); // [time, segments]
 * const { indices, importance } = prioritizedSegments(sizes, key, { count: 16, alpha: 0.8, beta: 0.2 });
 * ```
 */
export function prioritizedSegments(
  sizes: Value,
  key: Value,
  options: PrioritizedSegmentsOptions,
): DrawnSegments {
  const { count, alpha = 0.8, beta = 0.2 } = options;
  const [segments = 0] = sizes.shape;
  const weights = np.power(sizes, alpha);
  const probabilities = weights.add(1e-6).div(np.sum(weights).add(1e-6));
  // Probabilities sum to a little more than 1, hence the last of the sums and not 1.
  const sums = np.cumsum(probabilities, { axis: 0 });
  const drawn = random.uniform(key, [count]).mul(np.take(sums, segments - 1));
  const found = np.searchsorted(sums, drawn, { side: "right" }).astype("i32");
  const indices = np.minimum(found, segments - 1);
  const importance = np.power(np.take(probabilities, indices).mul(segments), np.negative(beta));
  return { indices, importance };
}
