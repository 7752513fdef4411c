import { checkNames, checkWord } from "../../core/index.ts";
import type { Device, EngineChoice } from "../../engine/index.ts";
import type { Loss } from "../../losses/index.ts";
import { adam, chain, clipByGlobalNorm } from "../../optim/index.ts";
import { linear, type Ramp } from "../../schedule/index.ts";
import type { TrainingConfig } from "../../trainer/index.ts";
import type { Experience, PolicyOutputs } from "../experience/experience.ts";
import { entropyLoss, policyLoss, valueLoss } from "../losses/actor-critic.ts";
import type { OnPolicyOptions } from "../on-policy/options.ts";
import { type OnPolicyTask, onPolicyTask } from "../on-policy/task.ts";
import type { Agent } from "./agent.ts";
import { checkedSettings } from "./check-settings.ts";
import { choiceNames, type EnvironmentChoice } from "./environments.ts";
import { onPolicyAgent } from "./on-policy-agent.ts";
import { picked } from "./picked.ts";
import { type PpoSettings, type PresetName, ppoSettings, presetNames } from "./ppo-settings.ts";

/** Options of {@link ppo}: the environment, a preset, and whatever is to differ from it. */
export interface PpoOptions
  extends EnvironmentChoice,
    Partial<Omit<PpoSettings, "updateEpochs">>,
    Pick<
      OnPolicyOptions,
      "updateEpochs" | "centerRewards" | "targetKl" | "vtrace" | "segment" | "prioritized"
    >,
    Pick<OnPolicyOptions, "curriculum" | "lesson" | "monitor" | "params" | "maxEpochs" | "deterministic">,
    Partial<Pick<TrainingConfig, "onNonFinite">> {
  /** Whose settings what is left out has. Default "tuned": those known to be good for the environment. */
  readonly preset?: PresetName;
  /** Further losses beside those of PPO. */
  readonly losses?: readonly Loss<Experience, PolicyOutputs>[];
  /** Where everything random comes from. Default 0. */
  readonly seed?: number;
  readonly engine?: EngineChoice;
  readonly device?: number | Device;
}

const settingNames: readonly (keyof PpoSettings)[] = [
  ...(["totalSteps", "environments", "rolloutSteps", "updateEpochs", "minibatches", "learningRate"] as const),
  ...(["annealRate", "annealClip", "gamma", "lambda", "clip", "valueClip", "valueWeight"] as const),
  ...(["entropyWeight", "maxNorm", "adamEpsilon", "normalizeObservations", "normalizeRewards"] as const),
  ...(["normalizeAdvantages", "policy"] as const),
];
const taskNames = [
  ...(["centerRewards", "targetKl", "vtrace", "segment", "prioritized", "curriculum", "lesson"] as const),
  ...(["monitor", "params", "maxEpochs", "seed", "engine", "device", "deterministic"] as const),
];
const names = [...settingNames, ...taskNames, ...choiceNames, "preset", "losses", "onNonFinite"];

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
  checkNames(kind, options, names);
  const preset = checkWord(kind, "preset", options.preset ?? "tuned", presetNames);
  const base = ppoSettings(preset, typeof options.env === "string" ? options.env : "");
  const changed = picked(options, settingNames);
  const settings = checkedSettings(kind, { ...base, ...changed } as PpoSettings);
  checkWord(kind, "normalizeAdvantages", settings.normalizeAdvantages, ["minibatch", "batch", "none"]);
  const losses = (epochs: number) => {
    const { clip, valueClip, valueWeight, entropyWeight, normalizeAdvantages: normalize } = settings;
    return [
      policyLoss({ clip: settings.annealClip ? falling(clip, epochs) : clip, normalize }),
      valueLoss({ weight: valueWeight, ...(valueClip !== "none" && { clip: valueClip }) }),
      entropyLoss({ weight: entropyWeight }),
      ...(options.losses ?? []),
    ];
  };
  const task = (environment: OnPolicyOptions["environment"], epochs: number): OnPolicyTask => {
    const { learningRate, annealRate } = settings;
    return onPolicyTask({
      ...{ environment, losses: losses(epochs), rolloutSteps: settings.rolloutSteps },
      optimizer: chain(clipByGlobalNorm(settings.maxNorm), adam({ epsilon: settings.adamEpsilon })),
      learningRate:
        annealRate && typeof learningRate === "number" ? falling(learningRate, epochs) : learningRate,
      ...picked(settings, ["updateEpochs", "minibatches", "gamma", "lambda", "policy"]),
      normalize: { observations: settings.normalizeObservations, rewards: settings.normalizeRewards },
      normalizeAdvantages: settings.normalizeAdvantages === "batch",
      ...picked(options, taskNames),
    });
  };
  return onPolicyAgent(kind, options, settings, task);
}

const falling = (from: number, epochs: number): Ramp => linear({ from, to: 0, over: { epochs } });
