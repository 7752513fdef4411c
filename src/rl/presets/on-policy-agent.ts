import { badOption, shown } from "../../core/index.ts";
import type { TrainingConfig } from "../../trainer/index.ts";
import { curriculumHook } from "../curriculum/curriculum.ts";
import { checkLessons } from "../environments/environment.ts";
import { checkNumbers } from "../on-policy/check-options.ts";
import { checkCurriculum } from "../on-policy/check-parts.ts";
import type { OnPolicyOptions } from "../on-policy/options.ts";
import { policyFor } from "../on-policy/setup.ts";
import { sizesOf } from "../on-policy/sizes.ts";
import type { OnPolicyTask } from "../on-policy/task.ts";
import { type Agent, agentOf } from "./agent.ts";
import {
  checkChoice,
  type EnvironmentChoice,
  environmentsOf,
  rowsIn,
  withEnvironments,
} from "./environments.ts";
import { picked } from "./picked.ts";

interface OnPolicySettings {
  readonly totalSteps: number;
  readonly environments: number;
  readonly rolloutSteps: number;
  readonly minibatches?: number;
  readonly policy: OnPolicyOptions["policy"];
  readonly normalizeObservations: boolean;
}

/** Options of the task that agents pass on as they are. */
const numberNames = [
  ...(["monitor", "params", "maxEpochs", "deterministic", "prioritized", "centerRewards"] as const),
  ...(["targetKl", "vtrace", "gamma", "lambda"] as const),
];

/** An agent that learns on policy: its environments, a task of theirs for each training, its curriculum's hook. */
export function onPolicyAgent<S extends OnPolicySettings>(
  kind: string,
  options: EnvironmentChoice &
    Partial<Omit<OnPolicyOptions, "normalizeAdvantages"> & Pick<TrainingConfig, "onNonFinite">>,
  settings: S,
  task: (environment: OnPolicyOptions["environment"], epochs: number) => OnPolicyTask,
): Agent<OnPolicyTask, S> {
  const { env, engine, seed, lesson, curriculum, updateEpochs, losses } = options;
  checkCurriculum(kind, curriculum);
  checkNumbers(kind, picked(options, numberNames));
  if (losses !== undefined && !Array.isArray(losses))
    throw badOption(kind, `losses are ${shown(losses)}`, "give a list of losses");
  const known = checkChoice(kind, options);
  if (known) {
    const rows = settings.environments * (known.agents ?? 1);
    const policy = policyFor(kind, settings.policy, known, settings.normalizeObservations);
    sizesOf(kind, { ...settings, ...picked(options, ["segment"]) }, policy, rows);
    checkLessons(kind, options, known);
  }
  return agentOf({
    ...{ kind, env, settings, totalSteps: settings.totalSteps, engine, seed, lesson },
    onNonFinite: options.onNonFinite,
    begin: () => {
      const environment = environmentsOf(kind, options, settings.environments);
      return {
        samplesPerEpoch: settings.rolloutSteps * rowsIn(environment),
        task: (epochs) => withEnvironments(environment, () => task(environment, epochs)),
      };
    },
    remembers: [curriculum, updateEpochs].filter((part) => typeof part === "object"),
    hooks: () => (curriculum ? [curriculumHook(curriculum)] : []),
  });
}
