import { badOption, shown } from "../../../core/index.ts";
import type { Environment } from "../environment.ts";
import type { NormalizeOptions } from "./normalize-observations.ts";
import { RunningMoments } from "./running-moments.ts";
import { forAgents, wrap } from "./wrap.ts";

/** Options of {@link normalizeRewards}. */
export interface NormalizeRewardsOptions extends NormalizeOptions {
  /** The discount of what is added up. Default 0.99. */
  readonly gamma?: number;
}

/**
 * Rewards divided by the running deviation of the discounted sum of them, as Gymnasium's NormalizeReward does it: the
 * sum is of what has been paid so far, goes on over truncations, and begins anew with the step that terminates.
 *
 * @example
 * ```ts
 * const environment = normalizeRewards(makeEnvironment("Pendulum-v1"), { gamma: 0.9 });
 * ```
 */
export function normalizeRewards(
  environment: Environment,
  options: NormalizeRewardsOptions = {},
): Environment {
  const { gamma = 0.99, epsilon = 1e-8, update = true } = options;
  if (!(gamma >= 0 && gamma <= 1))
    throw badOption("normalizeRewards", `gamma is ${shown(gamma)}`, "give a number from 0 to 1");
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
