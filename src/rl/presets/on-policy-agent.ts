import type { Options } from "../../core/index.ts";
import { checkMonitor, placeOf } from "../../learner/index.ts";
import type { Loss } from "../../losses/index.ts";
import { linear, type Ramp } from "../../schedule/index.ts";
import { curriculumHook } from "../curriculum/curriculum.ts";
import { checkLessons } from "../environments/environment.ts";
import type { Experience, PolicyOutputs } from "../experience/experience.ts";
import { type OnPolicyOptions, policyFor, rowsIn, sharedOptions, sizesOf } from "../on-policy/options.ts";
import type { OnPolicyTask } from "../on-policy/task.ts";
import * as rows from "../option-rows.ts";
import { type Agent, agentOf, nonFiniteRow } from "./agent.ts";
import { environmentRows, environmentsOf, knownEnvironment, withEnvironments } from "./environments.ts";

/** Rows of options that agents pass on to the task. */
export const taskRows = {
  centerRewards: sharedOptions.centerRewards,
  segment: sharedOptions.segment,
  curriculum: sharedOptions.curriculum,
  lesson: sharedOptions.lesson,
  monitor: sharedOptions.monitor,
  params: sharedOptions.params,
  maxEpochs: sharedOptions.maxEpochs,
  /** Default: 0. */
  seed: sharedOptions.seed,
  engine: sharedOptions.engine,
  device: sharedOptions.device,
  devices: sharedOptions.devices,
  deterministic: sharedOptions.deterministic,
};

/** Rows of the agent's own options. */
export const agentRows = {
  ...environmentRows,
  /** Further losses. */
  losses: rows.losses<Loss<Experience, PolicyOutputs>>("[kickstartLoss({ teacher, params })]"),
  onNonFinite: nonFiniteRow,
};

/** Options that PPO and A2C share beside their settings. */
export interface OnPolicyAgentOptions extends Options<typeof taskRows>, Options<typeof agentRows> {}

interface OnPolicySettings extends Pick<OnPolicyOptions, "rolloutSteps" | "minibatches" | "policy"> {
  readonly totalSteps: number;
  readonly environments: number;
  readonly normalizeObservations: boolean;
}

/** An agent that learns on policy: environments and a task for each training, and the curriculum's hook. */
export function onPolicyAgent<S extends OnPolicySettings>(
  kind: string,
  options: OnPolicyAgentOptions & Pick<OnPolicyOptions, "updateEpochs">,
  settings: S,
  task: (env: OnPolicyOptions["env"], epochs: number) => OnPolicyTask,
): Agent<OnPolicyTask, S> {
  const { env, engine, seed, lesson, curriculum, updateEpochs, segment, onNonFinite } = options;
  checkMonitor(kind, options.monitor ?? {});
  placeOf(kind, options);
  const known = knownEnvironment(kind, options);
  if (known) {
    const policy = policyFor(kind, settings.policy, known, settings.normalizeObservations);
    const sizes = { ...settings, ...(segment !== undefined && { segment }) };
    sizesOf(kind, sizes, policy, settings.environments * (known.agents ?? 1));
    checkLessons(kind, options, known);
  }
  return agentOf({
    kind,
    env,
    settings,
    totalSteps: settings.totalSteps,
    engine,
    seed,
    lesson,
    onNonFinite,
    begin: () => {
      const env = environmentsOf(kind, options, settings.environments);
      return {
        samplesPerEpoch: settings.rolloutSteps * rowsIn(env),
        task: (epochs) => withEnvironments(env, () => task(env, epochs)),
      };
    },
    shared: [curriculum, updateEpochs].filter((part) => typeof part === "object"),
    hooks: () => (curriculum ? [curriculumHook(curriculum)] : []),
  });
}

/** A number that falls to 0 over the training; a ramp as it is. */
export const annealed = (from: number | Ramp, epochs: number): Ramp =>
  typeof from === "number" ? linear({ from, to: 0, over: { epochs } }) : from;
