import { checkOptions, type Options, option, resolveOptions, type Settings } from "../../core/index.ts";
import { chain, clipByGlobalNorm, rmsprop } from "../../optim/index.ts";
import { entropyLoss, policyGradientLoss, valueLoss } from "../losses/actor-critic.ts";
import type { OnPolicyTask } from "../on-policy/task.ts";
import * as rows from "../option-rows.ts";
import { type Agent, pickOptions } from "./agent.ts";
import { agentRows, commonSettingRows, onPolicyAgent } from "./on-policy-agent.ts";

/**
 * The settings of A2C. Their defaults are those of Stable-Baselines3, whose value weight, 0.5, is of whole squares, ours
 * are half ones; it has no default for the number of environments.
 */
const settingRows = {
  ...commonSettingRows,
  environments: option.integer({ min: 1, default: 8 }),
  /** Steps of every environment in a rollout. */
  rolloutSteps: option.integer({ min: 1, default: 5 }),
  learningRate: option.either(rows.positive, rows.ramp, { default: 7e-4 }),
  /** Anneals the learning rate to 0 by the end. */
  annealRate: option.flag({ default: false }),
  lambda: option.number({ min: 0, max: 1, default: 1 }),
  /** Of half the square: see `valueLoss`. */
  valueWeight: option.either(rows.fromZero, rows.ramp, { default: 1 }),
  entropyWeight: option.either(rows.fromZero, rows.ramp, { default: 0 }),
  /** Of RMSprop. */
  epsilon: option.number({ min: 0, default: 1e-5 }),
  /** Of RMSprop. */
  decay: option.number({ min: 0, max: 1, default: 0.99 }),
  normalizeAdvantages: option.oneOf(["batch", "none"], { default: "none" }),
};

/** All settings of A2C. */
export interface A2cSettings extends Settings<typeof settingRows> {}

const sb3: A2cSettings = resolveOptions("a2c", {}, settingRows);

/**
 * The settings of A2C, the same for all environments: Stable-Baselines3's.
 *
 * @example
 * ```ts
 * a2cSettings().rolloutSteps; // 5
 * ```
 */
export const a2cSettings = (_environment?: string): A2cSettings => sb3;

const optionRows = { ...settingRows, ...agentRows };

/** Options of {@link a2c}: the environment, and all that differs from Stable-Baselines3's settings. */
export interface A2cOptions extends Options<typeof optionRows> {}

/**
 * A2C, the policy gradient itself: a few steps of many environments, and one update from each rollout. Every setting
 * can be changed by its name, and losses can be added.
 *
 * @example
 * ```ts
 * const agent = a2c({ env: "CartPole-v1", seed: 1 });
 * await agent.train({ steps: 200_000 });
 * console.log((await agent.evaluate({ episodes: 20 })).return);
 * ```
 */
export function a2c(options: A2cOptions): Agent<OnPolicyTask, A2cSettings> {
  const kind = "a2c";
  checkOptions(kind, options, optionRows);
  const settings: A2cSettings = { ...a2cSettings(), ...pickOptions(options, settingRows) };
  const { epsilon, decay, normalizeAdvantages: normalize } = settings;
  return onPolicyAgent(kind, options, settings, () => ({
    losses: [
      policyGradientLoss({ normalize }),
      valueLoss({ weight: settings.valueWeight }),
      entropyLoss({ weight: settings.entropyWeight }),
    ],
    optimizer: chain(clipByGlobalNorm(settings.maxNorm), rmsprop({ epsilon, decay })),
  }));
}
