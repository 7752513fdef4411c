import type { Setting, Settings } from "../../trainer/index.ts";
import { lessonOf } from "../environments/environment.ts";
import { environmentSetting, spacesSetting } from "../evaluation/player.ts";
import { type DqnOptions, kind } from "./options.ts";
import type { DqnParts } from "./setup.ts";

/** What of a task's set-up decides the bits that training gives, as far as plain values tell it. */
export function taskSettings(options: DqnOptions, { numbers, policy, objective }: DqnParts): Settings {
  const { environment, optimizer, epsilon, lesson, seed } = options;
  return {
    environment: environmentSetting(environment),
    rows: environment.rows,
    policy: policy.spec as Setting,
    spaces: spacesSetting(policy),
    ...numbers,
    ...(epsilon !== undefined && { epsilon: typeof epsilon === "number" ? epsilon : epsilon.describe() }),
    losses: objective.names,
    optimizer: { kind: optimizer.kind, rates: optimizer.rates as Setting },
    ...(lesson !== undefined && { lesson: lessonOf(kind, environment, lesson) }),
    ...(seed !== undefined && { seed }),
    ...(options.deterministic !== undefined && { deterministic: options.deterministic }),
  };
}
