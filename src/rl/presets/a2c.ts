import { checkNames, checkWord } from "../../core/index.ts";
import type { Device, EngineChoice } from "../../engine/index.ts";
import type { Loss } from "../../losses/index.ts";
import { chain, clipByGlobalNorm, rmsprop } from "../../optim/index.ts";
import { linear } from "../../schedule/index.ts";
import type { TrainingConfig } from "../../trainer/index.ts";
import type { Experience, PolicyOutputs } from "../experience/experience.ts";
import { entropyLoss, policyGradientLoss, valueLoss } from "../losses/actor-critic.ts";
import type { OnPolicyOptions } from "../on-policy/options.ts";
import { type OnPolicyTask, onPolicyTask } from "../on-policy/task.ts";
import { type A2cSettings, a2cSettings } from "./a2c-settings.ts";
import type { Agent } from "./agent.ts";
import { checkedSettings } from "./check-settings.ts";
import { choiceNames, type EnvironmentChoice } from "./environments.ts";
import { onPolicyAgent } from "./on-policy-agent.ts";
import { picked } from "./picked.ts";

/** Options of {@link a2c}: the environment, and whatever is to differ from Stable-Baselines3's settings. */
export interface A2cOptions
  extends EnvironmentChoice,
    Partial<A2cSettings>,
    Pick<OnPolicyOptions, "centerRewards" | "segment" | "curriculum" | "lesson" | "monitor" | "params">,
    Pick<OnPolicyOptions, "maxEpochs" | "deterministic">,
    Partial<Pick<TrainingConfig, "onNonFinite">> {
  /** Further losses beside those of A2C. */
  readonly losses?: readonly Loss<Experience, PolicyOutputs>[];
  /** Where everything random comes from. Default 0. */
  readonly seed?: number;
  readonly engine?: EngineChoice;
  readonly device?: number | Device;
}

const settingNames: readonly (keyof A2cSettings)[] = [
  ...([
    "totalSteps",
    "environments",
    "rolloutSteps",
    "learningRate",
    "annealRate",
    "gamma",
    "lambda",
  ] as const),
  ...(["valueWeight", "entropyWeight", "maxNorm", "epsilon", "decay", "normalizeObservations"] as const),
  ...(["normalizeRewards", "normalizeAdvantages", "policy"] as const),
];
const taskNames = [
  ...([
    "centerRewards",
    "segment",
    "curriculum",
    "lesson",
    "monitor",
    "params",
    "maxEpochs",
    "seed",
  ] as const),
  ...(["engine", "device", "deterministic"] as const),
];
const names = [...settingNames, ...taskNames, ...choiceNames, "losses", "onNonFinite"];

/**
 * A2C, the policy gradient itself: a few steps of many environments, and one update from each. Every setting can be
 * changed by its name, and losses can be added.
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
  checkNames(kind, options, names);
  const settings = checkedSettings(kind, {
    ...a2cSettings(),
    ...picked(options, settingNames),
  } as A2cSettings);
  checkWord(kind, "normalizeAdvantages", settings.normalizeAdvantages, ["batch", "none"]);
  const task = (environment: OnPolicyOptions["environment"], epochs: number): OnPolicyTask => {
    const { learningRate, annealRate, epsilon, decay, normalizeAdvantages: normalize } = settings;
    return onPolicyTask({
      ...{ environment, rolloutSteps: settings.rolloutSteps },
      losses: [
        policyGradientLoss({ normalize }),
        valueLoss({ weight: settings.valueWeight }),
        entropyLoss({ weight: settings.entropyWeight }),
        ...(options.losses ?? []),
      ],
      optimizer: chain(clipByGlobalNorm(settings.maxNorm), rmsprop({ epsilon, decay })),
      learningRate:
        annealRate && typeof learningRate === "number"
          ? linear({ from: learningRate, to: 0, over: { epochs } })
          : learningRate,
      ...picked(settings, ["gamma", "lambda", "policy"]),
      normalize: { observations: settings.normalizeObservations, rewards: settings.normalizeRewards },
      normalizeAdvantages: normalize === "batch",
      ...picked(options, taskNames),
    });
  };
  return onPolicyAgent(kind, options, settings, task);
}
