import { np, type Value, type ValueLike } from "../../engine/index.ts";
import { countedRows } from "../losses/valid.ts";
import { recurrence } from "./recurrence.ts";

/** What centred rewards are computed from. */
export interface CenterRewardsInputs {
  /** f32 [time, rows]. */
  readonly rewards: Value;
  /** 1 for steps that count, [time, rows]. */
  readonly valid: Value;
  /** The running mean as it was before: a scalar, 0 at first. */
  readonly mean: Value;
  /** How fast it moves. Default 1e-3. */
  readonly rate?: ValueLike | undefined;
  /** As in `advantages`. */
  readonly parallel?: boolean | undefined;
}

/**
 * Rewards less their running mean, inside `compile`. The mean moves by rate (r - mean) with every step, where r is the
 * mean over the rows that count; what it was before a step is taken from the step's rewards.
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
  const step = np.sum(countedRows(rewards, valid), { axis: 1 }).div(np.maximum(rows, 1));
  const moves = np.greater(rows, 0);
  const rates = np.where(moves, np.multiply(np.onesLike(step), rate), 0);
  const added = rates.mul(step);
  const kept = np.subtract(1, rates);
  // The mean before is the first step's, to which nothing is added.
  const means = recurrence(
    np.concatenate([np.reshape(mean, [1]), added]),
    np.concatenate([np.zeros([1]), kept]),
    { parallel },
  );
  const before = np.expandDims(np.slice(means, [0, time]), 1);
  return { rewards: countedRows(rewards.sub(before), valid), mean: np.take(means, time) };
}
