import type { Setting, Settings } from "../../trainer/index.ts";
import { spacesSetting } from "../policies/spaces-setting.ts";
import type { DqnOptions } from "./options.ts";
import type { DqnParts } from "./setup.ts";

/** What of a task's set-up decides the bits that training gives, as far as plain values tell it. */
export function taskSettings(options: DqnOptions, { numbers, policy, objective }: DqnParts): Settings {
  const { environment, optimizer, epsilon, seed } = options;
  return {
    environment: environment.name,
    rows: environment.rows,
    policy: policy.spec as Setting,
    spaces: spacesSetting(policy),
    ...numbers,
    ...(epsilon !== undefined && { epsilon: typeof epsilon === "number" ? epsilon : epsilon.describe() }),
    losses: objective.names,
    optimizer: { kind: optimizer.kind, rates: optimizer.rates as Setting },
    ...(seed !== undefined && { seed }),
    ...(options.deterministic !== undefined && { deterministic: options.deterministic }),
  };
}
