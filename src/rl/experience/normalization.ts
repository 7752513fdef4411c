import { np, type Value, type ValueLike } from "../../engine/index.ts";
import { maskRows } from "../losses/loss.ts";
import { recurrence } from "./advantages.ts";

/** Running mean, variance and count of rows: f32 [size], [size], []. */
export interface Moments<T = Value> {
  readonly mean: T;
  readonly variance: T;
  readonly count: T;
}

/** Moments of no rows: normalizing by them changes nothing. */
export const noMoments = (shape: readonly number[]): Moments => ({
  mean: np.zeros(shape),
  variance: np.ones(shape),
  count: np.zeros([]),
});

/**
 * Adds rows to moments, inside `compile`: `x` is [rows..., size...], `valid` [rows...] is 1 for rows that count.
 * Batches are merged by the parallel algorithm of Chan, Golub and LeVeque: there are no growing sums, so single
 * precision is enough for any number of rows. Beyond some hundred million rows the count saturates, and the moments
 * become those of the latest rows.
 */
export function addMoments(moments: Moments, x: Value, valid?: Value): Moments {
  const rank = x.ndim - moments.mean.ndim;
  const axis = Array.from({ length: rank }, (_, i) => i);
  const rows = x.shape.slice(0, rank);
  const weights = valid ?? np.ones(rows);
  const spread = np.reshape(weights, [...rows, ...moments.mean.shape.map(() => 1)]);
  const added = np.sum(weights);
  const least = np.maximum(added, 1);
  const masked = (y: Value): Value => (valid ? np.where(np.notEqual(spread, 0), y, np.zerosLike(y)) : y);
  const mean = np.sum(masked(x), { axis }).div(least);
  const variance = np.sum(masked(np.square(x.sub(mean))), { axis }).div(least);
  const count = moments.count.add(added);
  const share = added.div(np.maximum(count, 1));
  const delta = mean.sub(moments.mean);
  return {
    mean: moments.mean.add(delta.mul(share)),
    variance: moments.variance
      .add(variance.sub(moments.variance).mul(share))
      .add(np.square(delta).mul(share.mul(np.subtract(1, share)))),
    count,
  };
}

export interface NormalizationOptions {
  /** Results are clipped to plus and minus this. Default: 10. */
  readonly clip?: number | undefined;
  /** Added to the variance. Default: 1e-8. */
  readonly epsilon?: number | undefined;
}

/**
 * Rows minus the running mean, divided by the running deviation, clipped.
 *
 * @example
 * ```ts
 * const seen = normalize(observations, moments, { clip: 10 });
 * ```
 */
export function normalize(x: ValueLike, moments: Moments, options: NormalizationOptions = {}): Value {
  const { clip = 10, epsilon = 1e-8 } = options;
  const centered = np.subtract(x, moments.mean);
  return np.clip(centered.mul(np.rsqrt(moments.variance.add(epsilon))), -clip, clip);
}

/** The state of reward scaling: the discounted return of each row so far, and the moments of all returns. */
export interface RewardScale<T = Value> {
  readonly returns: T;
  readonly moments: Moments<T>;
}

/** The reward scale before the first reward. */
export const noRewardScale = (rows: number): RewardScale => ({
  returns: np.zeros([rows]),
  moments: noMoments([]),
});

/** Inputs of {@link scaleRewards}. */
export interface ScaleRewardsInputs {
  /** f32 [time, rows]. */
  readonly rewards: Value;
  /** 1 where an episode ends, terminated or truncated, and 1 for valid steps: [time, rows] each. */
  readonly ends: Value;
  readonly valid: Value;
  readonly gamma: ValueLike;
  /** As in `advantages`. */
  readonly parallel?: boolean | undefined;
}

/**
 * Rewards divided by the running deviation of discounted returns, clipped, inside `compile`: as Gymnasium and
 * Stable-Baselines3 normalize rewards, but for all steps of a rollout at once.
 *
 * @example
 * ```ts
 * const { rewards: scaled, scale } = scaleRewards(before, { rewards, ends, valid, gamma: 0.99 });
 * ```
 */
export function scaleRewards(
  before: RewardScale,
  { rewards, ends, valid, gamma, parallel = true }: ScaleRewardsInputs,
  options: NormalizationOptions = {},
): { readonly rewards: Value; readonly scale: RewardScale } {
  const { clip = 10, epsilon = 1e-8 } = options;
  const [time = 0, rows = 0] = rewards.shape;
  // A return continues until the episode ends, or until an invalid step.
  const continues = maskRows(np.subtract(1, ends), valid);
  const kept = np.concatenate([np.zeros([1, rows]), np.ones([1, rows]), np.slice(continues, [0, time - 1])]);
  const earned = np.concatenate([np.expandDims(before.returns, 0), maskRows(rewards, valid)]);
  const returns = recurrence(earned, np.multiply(kept, gamma), { parallel });
  const each = np.slice(returns, [1, time + 1]);
  const moments = addMoments(before.moments, each, valid);
  const scaled = rewards.mul(np.rsqrt(moments.variance.add(epsilon)));
  const left = np.take(each, time - 1, { axis: 0 }).mul(np.take(continues, time - 1, { axis: 0 }));
  return {
    rewards: maskRows(np.clip(scaled, -clip, clip), valid),
    scale: { returns: left, moments },
  };
}

/** Inputs of {@link centerRewards}. */
export interface CenterRewardsInputs {
  /** f32 [time, rows]. */
  readonly rewards: Value;
  /** 1 for valid steps, [time, rows]. */
  readonly valid: Value;
  /** The running mean before these rewards: a scalar, initially 0. */
  readonly mean: Value;
  /** The step size of the running mean. Default: 1e-3. */
  readonly rate?: ValueLike | undefined;
  /** As in `advantages`. */
  readonly parallel?: boolean | undefined;
}

/**
 * Rewards minus their running mean, inside `compile`. The mean moves by rate (r - mean) with every step, where r is the
 * mean over valid rows; each step subtracts the mean before it.
 *
 * @example
 * ```ts
 * const centered = centerRewards({ rewards, valid, mean: state.rewardMean });
 * return { rewards: centered.rewards, rewardMean: centered.mean };
 * ```
 */
export function centerRewards(inputs: CenterRewardsInputs): {
  readonly rewards: Value;
  readonly mean: Value;
} {
  const { rewards, valid, mean, rate = 1e-3, parallel = true } = inputs;
  const [time = 0] = rewards.shape;
  const rows = np.sum(valid, { axis: 1 });
  const step = np.sum(maskRows(rewards, valid), { axis: 1 }).div(np.maximum(rows, 1));
  const moves = np.greater(rows, 0);
  const rates = np.where(moves, np.multiply(np.onesLike(step), rate), 0);
  const added = rates.mul(step);
  const kept = np.subtract(1, rates);
  // The initial mean is the first element, to which nothing is added.
  const means = recurrence(
    np.concatenate([np.reshape(mean, [1]), added]),
    np.concatenate([np.zeros([1]), kept]),
    { parallel },
  );
  const before = np.expandDims(np.slice(means, [0, time]), 1);
  return { rewards: maskRows(rewards.sub(before), valid), mean: np.take(means, time) };
}
