import { badOption, shown } from "../../core/index.ts";
import { curriculumHook } from "../curriculum/curriculum-hook.ts";
import { checkCurriculum } from "../on-policy/check-parts.ts";
import type { OnPolicyOptions } from "../on-policy/options.ts";
import type { OnPolicyTask } from "../on-policy/task.ts";
import { type Agent, agentOf } from "./agent.ts";
import { type EnvironmentChoice, environmentsOf, rowsIn, withEnvironments } from "./environments.ts";

interface OnPolicySettings {
  readonly totalSteps: number;
  readonly environments: number;
  readonly rolloutSteps: number;
}

/** An agent that learns on policy: its environments, a task of theirs for each training, its curriculum's hook. */
export function onPolicyAgent<S extends OnPolicySettings>(
  kind: string,
  options: EnvironmentChoice &
    Partial<Pick<OnPolicyOptions, "curriculum" | "updateEpochs" | "losses">> & { readonly seed?: number },
  settings: S,
  task: (environment: OnPolicyOptions["environment"], epochs: number) => OnPolicyTask,
): Agent<OnPolicyTask, S> {
  const { env, engine, seed, curriculum, updateEpochs, losses } = options;
  checkCurriculum(kind, curriculum);
  if (losses !== undefined && !Array.isArray(losses))
    throw badOption(kind, `losses are ${shown(losses)}`, "give a list of losses");
  return agentOf({
    ...{ kind, env, settings, totalSteps: settings.totalSteps, engine, seed },
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
