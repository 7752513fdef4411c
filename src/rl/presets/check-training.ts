import { badOption, checkNames, shown } from "../../core/index.ts";
import type { TrainerHook } from "../../trainer/index.ts";
import type { AgentTraining } from "./agent.ts";

/** Refuses options of a training that are misspelt, or that the agent decides itself. */
export function checkTraining(kind: string, training: AgentTraining<never>): void {
  checkNames(kind, training, ["steps", "hooks", "config", "warn", "progress"]);
  const { config = {} } = training;
  if ("epochs" in config)
    throw badOption(
      kind,
      `config has epochs: ${shown(config.epochs)}, and they follow from the steps`,
      "give steps instead, as many as those epochs have",
    );
}

/** Refuses what is no list of hooks. */
export function checkHooks(kind: string, hooks: unknown): readonly TrainerHook[] {
  if (Array.isArray(hooks)) return hooks;
  throw badOption(
    kind,
    `hooks are ${shown(hooks)}`,
    "give a list of hooks, or a function of the task that gives one: ({ player }) => [...]",
  );
}
