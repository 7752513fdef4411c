import { compile, np, type Value } from "../../engine/index.ts";
import { type Learner, TensorState } from "../../learner/index.ts";
import type { Named } from "../../losses/index.ts";
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

/** Running statistics, by component: of observations (`normalizer`) and of each transform of rewards (`rewards`). */
export type Statistics = { readonly normalizer?: Moments; readonly rewards?: Named };

/** A collected rollout: observation [steps, rows, size], the others [steps, rows]. */
export interface CollectedRollout {
  readonly observation: Value;
  readonly reward: Value;
  readonly ends: Value;
  readonly valid: Value;
}

export type Transforms = ReturnType<typeof transformsFor>;

/** One transform of rewards. Its state is kept in the component `rewards` under its name. */
interface RewardTransform {
  readonly name: "scale" | "mean";
  first(): Named | Value;
  apply(
    before: Named | Value,
    rollout: CollectedRollout,
  ): { readonly reward: Value; readonly state: Named | Value };
}

export interface TransformOptions extends Pick<OnPolicyOptions, "normalize" | "centerRewards" | "gamma"> {
  readonly rows: number;
  /** Numbers in an observation. */
  readonly size: number;
  /** See `advantages`. */
  readonly parallel: boolean;
}

/** Transforms of observations and rewards by running statistics, inside programs. */
export function transformsFor(options: TransformOptions) {
  const { normalize: wanted = {}, centerRewards: center = false } = options;
  const rewardTransforms = [
    ...(wanted.rewards ? [scaling(options)] : []),
    ...(center !== false ? [centering(options)] : []),
  ];
  return {
    /** Before the first rollout. */
    first: (): Statistics => ({
      ...(wanted.observations && { normalizer: noMoments([options.size]) }),
      ...(rewardTransforms.length > 0 && {
        rewards: Object.fromEntries(rewardTransforms.map(({ name, first }) => [name, first()])),
      }),
    }),
    /** Observations as the policy takes them, normalized by the statistics before the rollout. */
    observation: ({ normalizer }: Statistics, observation: Value): Value =>
      normalizer ? normalize(observation, normalizer) : observation,
    /** Rewards as they are learned from, and the statistics after the rollout. */
    afterRollout: ({ normalizer, rewards }: Statistics, rollout: CollectedRollout) => {
      let { reward } = rollout;
      const next: Record<string, Named | Value> = {};
      for (const { name, apply } of rewardTransforms) {
        const { reward: transformed, state } = apply(rewards?.[name] as Named | Value, {
          ...rollout,
          reward,
        });
        reward = transformed;
        next[name] = state;
      }
      return {
        reward,
        stats: {
          ...(normalizer && { normalizer: addMoments(normalizer, rollout.observation) }),
          ...(rewards && { rewards: next }),
        } as Statistics,
      };
    },
  };
}

/** Divides rewards by the running deviation of returns. */
const scaling = ({ rows, gamma = 0.99, parallel }: TransformOptions): RewardTransform => ({
  name: "scale",
  first: () => asNamed(noRewardScale(rows)),
  apply: (before, { reward, ends, valid }) => {
    const scale = before as unknown as RewardScale;
    const scaled = scaleRewards(scale, { rewards: reward, ends, valid, gamma, parallel });
    return { reward: scaled.rewards, state: asNamed(scaled.scale) };
  },
});

const asNamed = ({ returns, moments }: RewardScale): Named => ({ returns, moments: { ...moments } });

/** Subtracts the running mean of rewards. */
const centering = ({ centerRewards: rate, parallel }: TransformOptions): RewardTransform => ({
  name: "mean",
  first: () => np.zeros([]),
  apply: (before, { reward, valid }) => {
    const centered = centerRewards({
      rewards: reward,
      valid,
      mean: before as Value,
      parallel,
      ...(typeof rate === "number" && { rate }),
    });
    return { reward: centered.rewards, state: centered.mean };
  },
});

/** The statistics on the device: a component for each part there is. */
export type StatisticsStates = {
  readonly [K in keyof Statistics]: TensorState<NonNullable<Statistics[K]>>;
};

export function statisticsStates(transforms: Transforms, learner: Learner): StatisticsStates {
  const { normalizer, rewards } = compile(() => transforms.first(), { ...learner.where, name: "running" })();
  return {
    ...(normalizer && {
      normalizer: new TensorState<Moments>("normalizer", normalizer, learner.stateOptions),
    }),
    ...(rewards && { rewards: new TensorState<Named>("rewards", rewards, learner.stateOptions) }),
  };
}
