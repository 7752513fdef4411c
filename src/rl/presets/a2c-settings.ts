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

/**
 * The defaults of Stable-Baselines3's A2C. Its value weight, 0.5, is of whole squares, ours are half ones; how many
 * environments there are it leaves open.
 */
const sb3: A2cSettings = {
  ...{ totalSteps: 500_000, environments: 8, rolloutSteps: 5, learningRate: 7e-4, annealRate: false },
  ...{ gamma: 0.99, lambda: 1, valueWeight: 1, entropyWeight: 0, maxNorm: 0.5, epsilon: 1e-5, decay: 0.99 },
  ...{ normalizeObservations: false, normalizeRewards: false, normalizeAdvantages: "none" },
  policy: {},
};

/**
 * The settings of A2C, the same for all environments: Stable-Baselines3's.
 *
 * @example
 * ```ts
 * a2cSettings().rolloutSteps; // 5
 * ```
 */
export const a2cSettings = (_environment?: string): A2cSettings => sb3;
