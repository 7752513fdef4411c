import { compile, type Device, np, type Tensor, type Value } from "../../engine/index.ts";
import { type Packing, TensorState } from "../../learner/index.ts";
import type { Stateful } from "../../state/index.ts";
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
import type { Policy } from "../policies/policy.ts";
import { flatSize } from "../spaces/index.ts";
import type { OnPolicyOptions } from "./options.ts";

/** What changes from rollout to rollout beside parameters: how observations are normalised, and rewards. */
export type Running = {
  readonly normalizer?: Moments;
  readonly rewards?: { readonly scale?: RewardScale; readonly mean?: Value };
};

/** A rollout as it was gathered: observation [steps, rows, size], the others [steps, rows]. */
export interface RolloutValues {
  readonly observation: Value;
  readonly reward: Value;
  readonly ends: Value;
  readonly valid: Value;
}

/** What is done to observations and rewards, inside programs. */
export interface Sides {
  /** Before anything has been seen. */
  first(): Running;
  /** Observations as the policy takes them. They are normalised by what was known before the rollout. */
  seen(running: Running, observation: Value): Value;
  /** Rewards as they are learned from, and what is known after the rollout. */
  after(running: Running, rollout: RolloutValues): { readonly reward: Value; readonly running: Running };
}

export function sidesOf(options: OnPolicyOptions, policy: Policy, rows: number, parallel: boolean): Sides {
  const { normalize: wanted = {}, centerRewards: center = false, gamma = 0.99 } = options;
  const { observations = false, rewards = false } = wanted;
  return {
    first: () => ({
      ...(observations && { normalizer: noMoments([flatSize(policy.observationSpace)]) }),
      ...((rewards || center !== false) && {
        rewards: {
          ...(rewards && { scale: noRewardScale(rows) }),
          ...(center !== false && { mean: np.zeros([]) }),
        },
      }),
    }),
    seen: ({ normalizer }, observation) => (normalizer ? normalize(observation, normalizer) : observation),
    after: (running, { observation, reward, ends, valid }) => {
      const { normalizer, rewards: before } = running;
      let found = reward;
      const scaled =
        before?.scale && scaleRewards(before.scale, { rewards: found, ends, valid, gamma, parallel });
      if (scaled) found = scaled.rewards;
      const centered =
        before?.mean &&
        centerRewards({
          ...{ rewards: found, valid, mean: before.mean, parallel },
          ...(typeof center === "number" && { rate: center }),
        });
      if (centered) found = centered.rewards;
      return {
        reward: found,
        running: {
          ...(normalizer && { normalizer: addMoments(normalizer, observation) }),
          ...(before && {
            rewards: { ...(scaled && { scale: scaled.scale }), ...(centered && { mean: centered.mean }) },
          }),
        },
      };
    },
  };
}

/** Packs a tree for programs, as `Packing` does. */
export type Packs<T> = Pick<Packing<T>, "pack" | "unpack">;

/** What is running, on the device: a component for each part there is. */
export class RunningState {
  readonly packing: Packs<Running>;
  readonly components: Readonly<Record<string, Stateful>>;
  readonly #parts: Readonly<Record<string, TensorState<unknown>>>;
  readonly #first: () => Readonly<Record<string, unknown>>;

  constructor(sides: Sides, device: Device, donated: boolean) {
    const first = compile(() => sides.first(), {
      engine: device.engine,
      device: device.index,
      name: "running",
    });
    this.#first = () => first() as Readonly<Record<string, unknown>>;
    const made = Object.entries(this.#first()).map(
      ([name, tree]) =>
        [name, new TensorState<unknown>(name, tree, { device, donated, lent: false })] as const,
    );
    this.#parts = Object.fromEntries(made);
    this.components = this.#parts;
    const counts = made.map(([, part]) => part.packing.groups.length);
    this.packing = {
      pack: (tree) =>
        made.flatMap(([name, part]) => part.packing.pack((tree as Readonly<Record<string, unknown>>)[name])),
      unpack: (arrays) => {
        let from = 0;
        const parts = made.map(([name, part], i) => {
          const own = arrays.slice(from, from + (counts[i] as number));
          from += counts[i] as number;
          return [name, part.packing.unpack(own)];
        });
        return Object.fromEntries(parts) as Running;
      },
    };
  }

  get now(): readonly Tensor[] {
    return Object.values(this.#parts).flatMap((part) => part.now);
  }

  replace(next: readonly Tensor[]): void {
    let from = 0;
    for (const part of Object.values(this.#parts)) {
      const count = part.packing.groups.length;
      part.replace(next.slice(from, from + count));
      from += count;
    }
  }

  restart(): void {
    const first = this.#first();
    for (const [name, part] of Object.entries(this.#parts)) part.setState(first[name] as never);
  }
}
