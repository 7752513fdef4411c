import { type Options, option, type Settings } from "../../core/index.ts";
import { placeOf } from "../../learner/index.ts";
import type { Loss } from "../../losses/index.ts";
import { linear, type Ramp } from "../../schedule/index.ts";
import { curriculumHook } from "../curriculum/curriculum.ts";
import { checkLessons } from "../environments/environment.ts";
import type { Experience, PolicyOutputs } from "../experience/experience.ts";
import type { AdvantageNormalization } from "../losses/actor-critic.ts";
import {
  type OnPolicyOptions,
  passedRows,
  policyFor,
  repeatedUpdateRows,
  rowsIn,
  settingRows,
  sizesOf,
} from "../on-policy/options.ts";
import { type OnPolicyTask, onPolicyTask } from "../on-policy/task.ts";
import * as rows from "../option-rows.ts";
import { type Agent, agentOf, nonFiniteRow, pickOptions } from "./agent.ts";
import { environmentRows, environmentsOf, knownEnvironment } from "./environments.ts";

/** Rows of the options that PPO and A2C share beside their settings. */
export const agentRows = {
  ...passedRows,
  ...environmentRows,
  /** Further losses. */
  losses: rows.losses<Loss<Experience, PolicyOutputs>>("[kickstartLoss({ teacher, params })]"),
  onNonFinite: nonFiniteRow,
};

/** Rows of the settings that PPO and A2C have with the same defaults. */
export const commonSettingRows = {
  /** Agent steps of the whole training. */
  totalSteps: option.integer({ min: 1, default: 500_000 }),
  gamma: option.number({ min: 0, max: 1, default: 0.99 }),
  /** Gradients are clipped to this norm. */
  maxNorm: option.number({ above: 0, default: 0.5 }),
  normalizeObservations: option.flag({ default: false }),
  normalizeRewards: option.flag({ default: false }),
  policy: rows.policySpec,
};

interface OnPolicySettings
  extends Settings<typeof commonSettingRows>,
    Pick<OnPolicyOptions, "rolloutSteps" | "minibatches"> {
  readonly environments: number;
  readonly learningRate: number | Ramp;
  readonly annealRate: boolean;
  readonly normalizeAdvantages: AdvantageNormalization;
}

/**
 * An agent that learns on policy: environments and a task for each training, and the curriculum's hook. `learning` gives
 * what differs between algorithms.
 */
export function onPolicyAgent<S extends OnPolicySettings>(
  kind: string,
  options: Options<typeof agentRows> & Pick<OnPolicyOptions, "updateEpochs">,
  settings: S,
  learning: (epochs: number) => Pick<OnPolicyOptions, "losses" | "optimizer">,
): Agent<OnPolicyTask, S> {
  const { curriculum, updateEpochs, segment } = options;
  placeOf(kind, options);
  const known = knownEnvironment(kind, options);
  if (known) {
    const policy = policyFor(kind, settings.policy, known, settings.normalizeObservations);
    sizesOf(kind, { ...settings, segment }, policy, settings.environments * (known.agents ?? 1));
    checkLessons(kind, options, known);
  }
  return agentOf({
    kind,
    options,
    settings,
    environments: () => environmentsOf(kind, options, settings.environments),
    samplesPerEpoch: (env) => settings.rolloutSteps * rowsIn(env),
    task: (env, epochs) => {
      const { learningRate, annealRate } = settings;
      const { losses, optimizer } = learning(epochs);
      return onPolicyTask({
        env,
        losses: [...losses, ...(options.losses ?? [])],
        optimizer,
        learningRate: annealRate ? annealed(learningRate, epochs) : learningRate,
        normalize: { observations: settings.normalizeObservations, rewards: settings.normalizeRewards },
        normalizeAdvantages: settings.normalizeAdvantages === "batch",
        ...(pickOptions(settings, settingRows) as Pick<OnPolicyOptions, keyof typeof settingRows>),
        ...pickOptions(options, { ...passedRows, ...repeatedUpdateRows }),
      });
    },
    shared: [curriculum, updateEpochs].filter((part) => typeof part === "object"),
    hooks: () => (curriculum ? [curriculumHook(curriculum)] : []),
  });
}

/** A number that falls to 0 over the training; a ramp as it is. */
export const annealed = (from: number | Ramp, epochs: number): Ramp =>
  typeof from === "number" ? linear({ from, to: 0, over: { epochs } }) : from;
