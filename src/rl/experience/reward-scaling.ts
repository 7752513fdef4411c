import { np, type Value, type ValueLike } from "../../engine/index.ts";
import { countedRows } from "../losses/valid.ts";
import { addMoments, type Moments, type NormalizeOptions, noMoments } from "./normalizer.ts";
import { recurrence } from "./recurrence.ts";

/** What scaling rewards remembers: the discounted return of each row so far, and the moments of all of them. */
export interface RewardScale<T = Value> {
  readonly returns: T;
  readonly moments: Moments<T>;
}

/**
 * Before the first reward.
 *
 * @example
 * ```ts
 * const scale = compile(() => noRewardScale(vector.rows))();
 * ```
 */
export const noRewardScale = (rows: number): RewardScale => ({
  returns: np.zeros([rows]),
  moments: noMoments([]),
});

/** What scaled rewards are computed from. */
export interface ScaleRewardsInputs {
  /** f32 [time, rows]. */
  readonly rewards: Value;
  /** 1 where an episode ends, terminated or truncated, and 1 for steps that count: [time, rows] each. */
  readonly ends: Value;
  readonly valid: Value;
  readonly gamma: ValueLike;
  /** As in `advantages`. */
  readonly parallel?: boolean | undefined;
}

/**
 * Rewards by the running deviation of discounted returns, clipped, inside `compile`: as Gymnasium and Stable-Baselines3
 * normalise rewards, but for all steps of a rollout at once.
 *
 * @example
 * ```ts
 * const { rewards: scaled, scale } = scaleRewards(before, { rewards, ends, valid, gamma: 0.99 });
 * ```
 */
export function scaleRewards(
  before: RewardScale,
  { rewards, ends, valid, gamma, parallel = true }: ScaleRewardsInputs,
  options: NormalizeOptions = {},
): { readonly rewards: Value; readonly scale: RewardScale } {
  const { clip = 10, epsilon = 1e-8 } = options;
  const [time = 0, rows = 0] = rewards.shape;
  // What was earned lasts until the episode ends, or until a step that does not count.
  const lasts = countedRows(np.subtract(1, ends), valid);
  const kept = np.concatenate([np.zeros([1, rows]), np.ones([1, rows]), np.slice(lasts, [0, time - 1])]);
  const earned = np.concatenate([np.expandDims(before.returns, 0), countedRows(rewards, valid)]);
  const returns = recurrence(earned, np.multiply(kept, gamma), { parallel });
  const each = np.slice(returns, [1, time + 1]);
  const moments = addMoments(before.moments, each, valid);
  const scaled = rewards.mul(np.rsqrt(moments.variance.add(epsilon)));
  const left = np.take(each, time - 1, { axis: 0 }).mul(np.take(lasts, time - 1, { axis: 0 }));
  return {
    rewards: countedRows(np.clip(scaled, -clip, clip), valid),
    scale: { returns: left, moments },
  };
}
