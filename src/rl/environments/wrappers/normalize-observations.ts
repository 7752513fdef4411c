import { box } from "../../spaces/make.ts";
import { boxSize } from "../../spaces/sizes.ts";
import type { Environment } from "../environment.ts";
import { RunningMoments } from "./running-moments.ts";
import { forAgents, type Seen, unfit, wrap } from "./wrap.ts";

/** Options of wrappers that normalise. */
export interface NormalizeOptions {
  /** Added to variances, so that nothing is divided by 0. Default 1e-8. */
  readonly epsilon?: number;
  /** Whether what is seen still moves mean and variance. Default true; false for evaluation. */
  readonly update?: boolean;
}

/**
 * Observations less their running mean, divided by their running deviation, as Gymnasium's NormalizeObservation does it.
 * Mean and variance are part of the state.
 *
 * @example
 * ```ts
 * const environment = normalizeObservations(makeEnvironment("Pendulum-v1"));
 * ```
 */
export function normalizeObservations(environment: Environment, options: NormalizeOptions = {}): Environment {
  const { epsilon = 1e-8, update = true } = options;
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
