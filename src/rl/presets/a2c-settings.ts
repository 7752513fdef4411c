import type { Ramp } from "../../schedule/index.ts";
import type { PolicySpec } from "../policies/spec.ts";

/** All settings of A2C. */
export interface A2cSettings {
  /** Agent steps of the whole training. */
  readonly totalSteps: number;
  /** How many environments there are, and how many steps each takes before it is learned from. */
  readonly environments: number;
  readonly rolloutSteps: number;
  readonly learningRate: number | Ramp;
  /** Whether the learning rate falls to 0 by the end. */
  readonly annealRate: boolean;
  readonly gamma: number;
  readonly lambda: number;
  /** Of half the square: see `valueLoss`. */
  readonly valueWeight: number;
  readonly entropyWeight: number;
  /** Gradients are clipped to this norm. */
  readonly maxNorm: number;
  /** RMSprop's, and how slowly its average moves. */
  readonly epsilon: number;
  readonly decay: number;
  readonly normalizeObservations: boolean;
  readonly normalizeRewards: boolean;
  readonly normalizeAdvantages: "batch" | "none";
  readonly policy: PolicySpec;
}

/** The defaults of Stable-Baselines3's A2C, whose 0.5 is of the whole square of the value's error, with 8 environments. */
const sb3: A2cSettings = {
  ...{ totalSteps: 500_000, environments: 8, rolloutSteps: 5, learningRate: 7e-4, annealRate: false },
  ...{
    gamma: 0.99,
    lambda: 1,
    valueWeight: 1,
    entropyWeight: 0.01,
    maxNorm: 0.5,
    epsilon: 1e-5,
    decay: 0.99,
  },
  ...{ normalizeObservations: false, normalizeRewards: false, normalizeAdvantages: "none" },
  policy: {},
};

/** Settings by environment. */
const tuned: Readonly<Record<string, A2cSettings>> = {
  "CartPole-v1": { ...sb3, entropyWeight: 0 },
};

/**
 * The settings of A2C for an environment: Stable-Baselines3's, with what is known to be better for it.
 *
 * @example
 * ```ts
 * a2cSettings("CartPole-v1").entropyWeight; // 0
 * ```
 */
export const a2cSettings = (environment: string): A2cSettings => tuned[environment] ?? sb3;
