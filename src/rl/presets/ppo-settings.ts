import type { Ramp } from "../../schedule/index.ts";
import type { PolicySpec } from "../policies/spec.ts";

/** All settings of PPO. */
export interface PpoSettings {
  /** Agent steps of the whole training. */
  readonly totalSteps: number;
  /** How many environments there are, and how many steps each takes before it is learned from. */
  readonly environments: number;
  readonly rolloutSteps: number;
  readonly updateEpochs: number;
  readonly minibatches: number;
  readonly learningRate: number | Ramp;
  /** Whether the learning rate falls to 0 by the end; and the clip range. */
  readonly annealRate: boolean;
  readonly annealClip: boolean;
  readonly gamma: number;
  readonly lambda: number;
  readonly clip: number;
  /** How far the value may move from what it was at gathering before it earns nothing more. */
  readonly valueClip: number | "none";
  /** Of half the square: see `valueLoss`. */
  readonly valueWeight: number;
  readonly entropyWeight: number;
  /** Gradients are clipped to this norm. */
  readonly maxNorm: number;
  readonly adamEpsilon: number;
  readonly normalizeObservations: boolean;
  readonly normalizeRewards: boolean;
  readonly normalizeAdvantages: "minibatch" | "batch" | "none";
  readonly policy: PolicySpec;
}

/** CleanRL's ppo.py. */
const cleanrl: PpoSettings = {
  ...{ totalSteps: 500_000, environments: 4, rolloutSteps: 128, updateEpochs: 4, minibatches: 4 },
  ...{ learningRate: 2.5e-4, annealRate: true, annealClip: false, gamma: 0.99, lambda: 0.95 },
  ...{ clip: 0.2, valueClip: 0.2, valueWeight: 0.5, entropyWeight: 0.01, maxNorm: 0.5, adamEpsilon: 1e-5 },
  ...{ normalizeObservations: false, normalizeRewards: false, normalizeAdvantages: "minibatch" },
  policy: {},
};

/** The defaults of Stable-Baselines3's PPO. */
const sb3: PpoSettings = {
  ...cleanrl,
  ...{ totalSteps: 1_000_000, environments: 1, rolloutSteps: 2048, updateEpochs: 10, minibatches: 32 },
  ...{ learningRate: 3e-4, annealRate: false, valueClip: "none", entropyWeight: 0 },
  // Its 0.5 is of whole squares, ours are half ones.
  valueWeight: 1,
};

/** Settings by environment. */
const tuned: Readonly<Record<string, PpoSettings>> = {
  "CartPole-v1": {
    ...sb3,
    ...{ totalSteps: 100_000, environments: 8, rolloutSteps: 32, updateEpochs: 20, minibatches: 1 },
    ...{ gamma: 0.98, lambda: 0.8, learningRate: 1e-3, annealRate: true, annealClip: true },
  },
  "Acrobot-v1": {
    ...sb3,
    ...{ totalSteps: 1_000_000, environments: 16, rolloutSteps: 256, updateEpochs: 4, minibatches: 64 },
    ...{ lambda: 0.94, normalizeObservations: true, normalizeRewards: true },
  },
  "MountainCar-v0": {
    ...sb3,
    ...{ totalSteps: 1_000_000, environments: 16, rolloutSteps: 16, updateEpochs: 4, minibatches: 4 },
    ...{ lambda: 0.98, normalizeObservations: true, normalizeRewards: true },
  },
  "MountainCarContinuous-v0": {
    ...sb3,
    ...{ totalSteps: 300_000, environments: 16, rolloutSteps: 256, updateEpochs: 10, minibatches: 16 },
    ...{ gamma: 0.9999, lambda: 0.9, entropyWeight: 0.004, maxNorm: 5, valueWeight: 0.38 },
    ...{ normalizeObservations: true, normalizeRewards: true },
  },
  "Pendulum-v1": {
    ...sb3,
    ...{ totalSteps: 100_000, environments: 4, rolloutSteps: 1024, updateEpochs: 10, minibatches: 64 },
    ...{ gamma: 0.9, lambda: 0.95, learningRate: 1e-3 },
  },
};

export const presetNames = ["tuned", "cleanrl", "sb3"] as const;
/** The presets of {@link ppo}, by name. */
export type PresetName = (typeof presetNames)[number];

/**
 * The settings that a preset has for an environment: `tuned` has some of its own for each built-in one, and otherwise
 * those of CleanRL.
 *
 * @example
 * ```ts
 * ppoSettings("tuned", "CartPole-v1").rolloutSteps; // 32
 * ```
 */
export function ppoSettings(preset: PresetName, environment: string): PpoSettings {
  if (preset === "sb3") return sb3;
  return (preset === "tuned" ? tuned[environment] : undefined) ?? cleanrl;
}
