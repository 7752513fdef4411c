import { checkOptions, type Options, option, resolveOptions, type Settings } from "../../core/index.ts";
import { adam, chain, clipByGlobalNorm } from "../../optim/index.ts";
import { entropyLoss, policyLoss, valueLoss } from "../losses/actor-critic.ts";
import { repeatedUpdateRows } from "../on-policy/options.ts";
import type { OnPolicyTask } from "../on-policy/task.ts";
import * as rows from "../option-rows.ts";
import { type Agent, pickOptions } from "./agent.ts";
import { agentRows, annealed, commonSettingRows, onPolicyAgent } from "./on-policy-agent.ts";

/** The settings of PPO. Their defaults are those of CleanRL's ppo.py. */
const settingRows = {
  ...commonSettingRows,
  environments: option.integer({ min: 1, default: 4 }),
  /** Steps of every environment in a rollout. */
  rolloutSteps: option.integer({ min: 1, default: 128 }),
  updateEpochs: option.either(rows.size, rows.tunedEpochs, { default: 4 }),
  minibatches: option.integer({ min: 1, default: 4 }),
  learningRate: option.either(rows.positive, rows.ramp, { default: 2.5e-4 }),
  /** Anneals the learning rate to 0 by the end. */
  annealRate: option.flag({ default: true }),
  /** Anneals the clip range to 0 by the end. */
  annealClip: option.flag({ default: false }),
  lambda: option.number({ min: 0, max: 1, default: 0.95 }),
  clip: option.either(rows.positive, rows.ramp, { default: 0.2 }),
  /** Values are clipped to this distance from their estimates during the rollout. */
  valueClip: option.either(rows.orRamp(rows.positive), option.oneOf(["none"], {}), { default: 0.2 }),
  /** Of half the square: see `valueLoss`. */
  valueWeight: option.either(rows.fromZero, rows.ramp, { default: 0.5 }),
  entropyWeight: option.either(rows.fromZero, rows.ramp, { default: 0.01 }),
  adamEpsilon: option.number({ min: 0, default: 1e-5 }),
  normalizeAdvantages: option.oneOf(["minibatch", "batch", "none"], { default: "minibatch" }),
};

/** All settings of PPO. */
export interface PpoSettings extends Settings<typeof settingRows> {}

/** CleanRL's ppo.py. */
const cleanrl: PpoSettings = resolveOptions("ppo", {}, settingRows);

/** The defaults of Stable-Baselines3's PPO. */
const sb3: PpoSettings = {
  ...cleanrl,
  totalSteps: 1_000_000,
  environments: 1,
  rolloutSteps: 2048,
  updateEpochs: 10,
  minibatches: 32,
  learningRate: 3e-4,
  annealRate: false,
  valueClip: "none",
  entropyWeight: 0,
  // Its 0.5 is of whole squares, ours are half ones.
  valueWeight: 1,
};

/** Settings by environment. */
const tuned: Readonly<Record<string, PpoSettings>> = {
  "CartPole-v1": {
    ...sb3,
    totalSteps: 100_000,
    environments: 8,
    rolloutSteps: 32,
    updateEpochs: 20,
    minibatches: 1,
    gamma: 0.98,
    lambda: 0.8,
    learningRate: 1e-3,
    annealRate: true,
    annealClip: true,
  },
  "Acrobot-v1": {
    ...sb3,
    environments: 16,
    rolloutSteps: 256,
    updateEpochs: 4,
    minibatches: 64,
    lambda: 0.94,
    normalizeObservations: true,
    normalizeRewards: true,
  },
  "MountainCar-v0": {
    ...sb3,
    environments: 16,
    rolloutSteps: 16,
    updateEpochs: 4,
    minibatches: 4,
    lambda: 0.98,
    normalizeObservations: true,
    normalizeRewards: true,
  },
  "MountainCarContinuous-v0": {
    ...sb3,
    totalSteps: 300_000,
    environments: 16,
    rolloutSteps: 256,
    updateEpochs: 10,
    minibatches: 16,
    gamma: 0.9999,
    lambda: 0.9,
    entropyWeight: 0.004,
    maxNorm: 5,
    valueWeight: 0.38,
    normalizeObservations: true,
    normalizeRewards: true,
  },
  "Pendulum-v1": {
    ...sb3,
    totalSteps: 100_000,
    environments: 4,
    rolloutSteps: 1024,
    updateEpochs: 10,
    minibatches: 64,
    gamma: 0.9,
    lambda: 0.95,
    learningRate: 1e-3,
  },
};

const presetNames = ["tuned", "cleanrl", "sb3"] as const;
/** The presets of {@link ppo}, by name. */
export type PresetName = (typeof presetNames)[number];

/**
 * The settings of a preset for an environment: `tuned` has its own for each built-in environment, and otherwise those
 * of CleanRL.
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

const optionRows = {
  ...settingRows,
  ...repeatedUpdateRows,
  ...agentRows,
  /** The source of all settings that are not given. Default: "tuned", known to be good for the environment. */
  preset: option.oneOf(presetNames, {}),
};

/** Options of {@link ppo}: the environment, a preset, and all that differs from it. */
export interface PpoOptions extends Options<typeof optionRows> {}

/**
 * PPO with settings that work: give an environment and train. Every setting can be changed by its name, and losses can
 * be added to those of PPO.
 *
 * @example
 * ```ts
 * const agent = ppo({ env: "CartPole-v1" });
 * await agent.train();
 * console.log((await agent.evaluate({ episodes: 20 })).return);
 * ```
 */
export function ppo(options: PpoOptions): Agent<OnPolicyTask, PpoSettings> {
  const kind = "ppo";
  checkOptions(kind, options, optionRows);
  const { preset = "tuned", env } = options;
  const base = ppoSettings(preset, typeof env === "string" ? env : "");
  const settings: PpoSettings = { ...base, ...pickOptions(options, settingRows) };
  const { clip, annealClip, valueClip, normalizeAdvantages: normalize } = settings;
  return onPolicyAgent(kind, options, settings, (epochs) => ({
    losses: [
      policyLoss({ clip: annealClip ? annealed(clip, epochs) : clip, normalize }),
      valueLoss({ weight: settings.valueWeight, clip: valueClip === "none" ? undefined : valueClip }),
      entropyLoss({ weight: settings.entropyWeight }),
    ],
    optimizer: chain(clipByGlobalNorm(settings.maxNorm), adam({ epsilon: settings.adamEpsilon })),
  }));
}
