import { badOption } from "../../../core/index.ts";
import { boundAt, box } from "../../spaces/make.ts";
import { boxSize } from "../../spaces/sizes.ts";
import type { Environment } from "../environment.ts";
import { forAgents, type Seen, unfit, wrap } from "./wrap.ts";

/** Bounds, one of which may be left out. */
export interface ClipOptions {
  readonly low?: number;
  readonly high?: number;
}

function boundsOf(kind: string, { low = -Infinity, high = Infinity }: ClipOptions) {
  if (low <= high && (low > -Infinity || high < Infinity)) return { low, high };
  throw badOption(kind, `low is ${low} and high is ${high}`, "give at least one bound, low not above high");
}

const clip = (x: number, low: number, high: number): number => Math.min(Math.max(x, low), high);

/**
 * Takes any actions and gives the environment those within its bounds, as Gymnasium's ClipAction does.
 *
 * @example
 * ```ts
 * clipActions(makeEnvironment("Pendulum-v1")).actionSpace; // a box without bounds
 * ```
 */
export function clipActions(environment: Environment): Environment {
  const space = environment.actionSpace;
  if (space.kind !== "box") throw unfit("clipActions", environment, "actions", space);
  const clipped = (action: ArrayLike<number>): Float32Array =>
    Float32Array.from(action, (x, i) => clip(x, boundAt(space.low, i), boundAt(space.high, i)));
  return wrap(environment, {
    actionSpace: box({ shape: space.shape }),
    act: (action) => forAgents(environment, action as Float32Array, clipped),
  });
}

/**
 * Rewards within bounds.
 *
 * @example
 * ```ts
 * const environment = clipRewards(makeEnvironment("Pendulum-v1"), { low: -1, high: 1 });
 * ```
 */
export function clipRewards(environment: Environment, options: ClipOptions): Environment {
  const { low, high } = boundsOf("clipRewards", options);
  return wrap(environment, {
    step: (stepped) => ({
      ...stepped,
      reward: forAgents(environment, stepped.reward, (paid) => clip(paid, low, high)),
    }),
  });
}

/**
 * Observations within bounds. Behind `normalizeObservations` it keeps what is rare from being huge.
 *
 * @example
 * ```ts
 * const environment = clipObservations(normalizeObservations(inner), { low: -10, high: 10 });
 * ```
 */
export function clipObservations(environment: Environment, options: ClipOptions): Environment {
  const { low, high } = boundsOf("clipObservations", options);
  const space = environment.observationSpace;
  if (space.kind !== "box") throw unfit("clipObservations", environment, "observations", space);
  const bounds = (of: number | readonly number[]): number[] =>
    Array.from({ length: boxSize(space) }, (_, i) => clip(boundAt(of, i), low, high));
  const clipped = <T extends Seen>(seen: T): T => ({
    ...seen,
    observation: forAgents(environment, seen.observation as Float32Array, (numbers: Float32Array) =>
      Float32Array.from(numbers, (x) => clip(x, low, high)),
    ),
  });
  return wrap(environment, {
    observationSpace: box({ shape: space.shape, low: bounds(space.low), high: bounds(space.high) }),
    reset: clipped,
    step: clipped,
  });
}
