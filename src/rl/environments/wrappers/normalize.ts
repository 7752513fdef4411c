import { type Options, option, resolveOptions } from "../../../core/index.ts";
import type { StateTree } from "../../../state/index.ts";
import { box, boxSize } from "../../spaces/space.ts";
import type { Environment } from "../environment.ts";
import { forAgents, type Seen, unfit, wrap } from "./wrap.ts";

const observationRows = {
  /** Added to variances, so that nothing is divided by 0. Default: 1e-8. */
  epsilon: option.number({ min: 0, default: 1e-8 }),
  /** Updates mean and variance; false for evaluation. Default: true. */
  update: option.flag({ default: true }),
};

/**
 * Subtracts the running mean from observations and divides by their running deviation, as Gymnasium's
 * NormalizeObservation does. Mean and variance are part of the state.
 *
 * @example
 * ```ts
 * const environment = normalizeObservations(makeEnvironment("Pendulum-v1"));
 * ```
 */
export function normalizeObservations(
  environment: Environment,
  options: Options<typeof observationRows> = {},
): Environment {
  const { epsilon, update } = resolveOptions("normalizeObservations", options, observationRows);
  const space = environment.observationSpace;
  if (space.kind !== "box") throw unfit("normalizeObservations", environment, "observations", space);
  const moments = new RunningMoments(boxSize(space));
  const normal = (seen: ArrayLike<number>): Float32Array => {
    if (update) moments.add(seen);
    const { mean, variance } = moments;
    return Float32Array.from(
      seen,
      (x, i) => (x - (mean[i] as number)) / Math.sqrt((variance[i] as number) + epsilon),
    );
  };
  const normalized = <T extends Seen>(seen: T): T => ({
    ...seen,
    observation: forAgents(environment, seen.observation as Float32Array, normal),
  });
  return wrap(environment, {
    observationSpace: box({ shape: space.shape }),
    reset: normalized,
    step: normalized,
    memory: moments,
  });
}

const rewardRows = {
  ...observationRows,
  /** The discount of the sum. Default: 0.99. */
  gamma: option.number({ min: 0, max: 1, default: 0.99 }),
};

/**
 * Divides rewards by the running deviation of their discounted sum, as Gymnasium's NormalizeReward does: the sum is of
 * rewards so far, goes on over truncations, and starts again with the step that terminates.
 *
 * @example
 * ```ts
 * const environment = normalizeRewards(makeEnvironment("Pendulum-v1"), { gamma: 0.9 });
 * ```
 */
export function normalizeRewards(
  environment: Environment,
  options: Options<typeof rewardRows> = {},
): Environment {
  const { gamma, epsilon, update } = resolveOptions("normalizeRewards", options, rewardRows);
  const moments = new RunningMoments(1);
  const sums = new Float64Array(environment.agents ?? 1);
  return wrap(environment, {
    step(stepped) {
      const going = stepped.terminated ? 0 : 1;
      const reward = forAgents(environment, stepped.reward, (paid, agent) => {
        sums[agent] = (sums[agent] as number) * gamma * going + paid;
        if (update) moments.add(sums.subarray(agent, agent + 1));
        return paid / Math.sqrt((moments.variance[0] as number) + epsilon);
      });
      return { ...stepped, reward };
    },
    memory: {
      getState: () => ({ sums: sums.slice(), moments: moments.getState() }),
      setState(state) {
        const given = state as { readonly sums: Float64Array; readonly moments: never };
        sums.set(given.sums);
        moments.setState(given.moments);
      },
    },
  });
}

/**
 * Mean and variance of each number over all samples, as Gymnasium's RunningMeanStd computes them: from a mean of 0 and a
 * variance of 1 that weigh a ten-thousandth of a sample, in double precision.
 */
class RunningMoments {
  readonly mean: Float64Array;
  readonly variance: Float64Array;
  #count = 1e-4;

  constructor(size: number) {
    this.mean = new Float64Array(size);
    this.variance = new Float64Array(size).fill(1);
  }

  add(sample: ArrayLike<number>): void {
    const before = this.#count;
    const total = before + 1;
    for (let i = 0; i < this.mean.length; i++) {
      const off = (sample[i] as number) - (this.mean[i] as number);
      this.mean[i] = (this.mean[i] as number) + off / total;
      this.variance[i] = ((this.variance[i] as number) * before + (off * off * before) / total) / total;
    }
    this.#count = total;
  }

  getState(): StateTree {
    return { mean: this.mean.slice(), variance: this.variance.slice(), count: this.#count };
  }

  setState(state: StateTree): void {
    const { mean, variance, count } = state as {
      readonly mean: Float64Array;
      readonly variance: Float64Array;
      readonly count: number;
    };
    this.mean.set(mean);
    this.variance.set(variance);
    this.#count = count;
  }
}
