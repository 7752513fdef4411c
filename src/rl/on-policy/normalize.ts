import { compile, np, type Value } from "../../engine/index.ts";
import { type Learner, TensorState } from "../../learner/index.ts";
import {
  addMoments,
  centerRewards,
  type Moments,
  noMoments,
  noRewardScale,
  normalize,
  type RewardScale,
  scaleRewards,
} from "../experience/normalization.ts";
import type { OnPolicyOptions } from "./options.ts";

/** Running statistics, by component: of observations (`normalizer`) and of each transform of `rewards`. */
export type Statistics = {
  readonly normalizer?: Moments;
  readonly rewards?: RewardStatistics;
};
type RewardStatistics = { readonly scale?: RewardScale; readonly mean?: Value };

/** A collected rollout: observation [steps, rows, size], the others [steps, rows]. */
export interface CollectedRollout {
  readonly observation: Value;
  readonly reward: Value;
  readonly ends: Value;
  readonly valid: Value;
}

export type Transforms = ReturnType<typeof transformsFor>;

export interface TransformOptions extends Pick<OnPolicyOptions, "normalize" | "centerRewards" | "gamma"> {
  readonly rows: number;
  /** Numbers in an observation. */
  readonly size: number;
  /** See `advantages`. */
  readonly parallel: boolean;
}

/** Transforms of observations and rewards by running statistics, inside programs. */
export function transformsFor(options: TransformOptions) {
  const { normalize: wanted = {}, centerRewards: rate = false, gamma = 0.99, parallel } = options;
  /** Rewards divided by the running deviation of returns. */
  const scaled = (scale: RewardScale | undefined, { reward, ends, valid }: CollectedRollout) =>
    scale && scaleRewards(scale, { rewards: reward, ends, valid, gamma, parallel });
  /** Rewards minus their running mean. */
  const centered = (mean: Value | undefined, rewards: Value, { valid }: CollectedRollout) =>
    mean && centerRewards({ rewards, valid, mean, parallel, ...(typeof rate === "number" && { rate }) });
  return {
    /** Before the first rollout. */
    first: (): Statistics => ({
      ...(wanted.observations && { normalizer: noMoments([options.size]) }),
      ...((wanted.rewards || rate !== false) && {
        rewards: {
          ...(wanted.rewards && { scale: noRewardScale(options.rows) }),
          ...(rate !== false && { mean: np.zeros([]) }),
        },
      }),
    }),
    /** Observations as the policy takes them, normalized by the statistics before the rollout. */
    observation: ({ normalizer }: Statistics, observation: Value): Value =>
      normalizer ? normalize(observation, normalizer) : observation,
    /** Rewards as they are learned from, and the statistics after the rollout. */
    afterRollout: ({ normalizer, rewards }: Statistics, rollout: CollectedRollout) => {
      const scale = scaled(rewards?.scale, rollout);
      const center = centered(rewards?.mean, scale?.rewards ?? rollout.reward, rollout);
      const stats: Statistics = {
        ...(normalizer && { normalizer: addMoments(normalizer, rollout.observation) }),
        ...(rewards && {
          rewards: { ...(scale && { scale: scale.scale }), ...(center && { mean: center.mean }) },
        }),
      };
      return { reward: center?.rewards ?? scale?.rewards ?? rollout.reward, stats };
    },
  };
}

/** The statistics on the device: a component for each part there is. */
export type StatisticsStates = {
  readonly [K in keyof Statistics]: TensorState<NonNullable<Statistics[K]>>;
};

export function statisticsStates(transforms: Transforms, learner: Learner): StatisticsStates {
  const { normalizer, rewards } = compile(() => transforms.first(), { ...learner.where, name: "running" })();
  const { stateOptions } = learner;
  return {
    ...(normalizer && { normalizer: new TensorState<Moments>("normalizer", normalizer, stateOptions) }),
    ...(rewards && { rewards: new TensorState<RewardStatistics>("rewards", rewards, stateOptions) }),
  };
}
