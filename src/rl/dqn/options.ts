import {
  EspalierError,
  type Options,
  option,
  required,
  resolveOptions,
  type Settings,
} from "../../core/index.ts";
import type { Loss } from "../../losses/index.ts";
import type { ActionValues, TransitionTargets } from "../losses/td.ts";
import { policyFor } from "../on-policy/options.ts";
import * as rows from "../option-rows.ts";
import { checkNotRecurrent, type Policy, type PolicySpaces } from "../policies/policy.ts";
import type { PolicySpec } from "../policies/spec.ts";
import type { VectorEnvironment } from "../vector/vector.ts";

export interface TargetUpdates {
  readonly every?: number;
  readonly tau?: number;
}

/** Rows of options that are settings of the agent, too. */
export const settingRows = {
  /**
   * The parameters of its distribution, the logits of choices, are the action values; its value function is not used.
   * Without memory. Default: one tower of 120 and 84, relu.
   */
  policy: rows.policy,
  /** Steps of every row before the next updates. Default: 10. */
  rolloutSteps: option.integer({ min: 1, default: 10 }),
  /** Updates after these steps. Default: 1. */
  updates: option.integer({ min: 1, default: 1 }),
  /** Repetitions of both in an epoch. Default: 100. */
  cycles: option.integer({ min: 1, default: 100 }),
  /** Transitions of an update. Default: 128. */
  batchSize: option.integer({ min: 1, default: 128 }),
  /** Transitions in the replay buffer. Default: 10,000. */
  capacity: option.integer({ min: 1, default: 10_000 }),
  /** Agent steps before the first update. Default: 1000. */
  learningStarts: option.integer({ min: 0, default: 1000 }),
  /** Discount. Default: 0.99. */
  gamma: option.number({ min: 0, max: 1, default: 0.99 }),
  /** The learning network chooses the next action and the target network evaluates it. Default: false. */
  double: option.flag({ default: false }),
  // With a tau of 0 the target would never move.
  /** The target network moves by `tau` towards the learning one `every` few updates. Default: 50 and 1. */
  target: option.group<TargetUpdates, { readonly default: TargetUpdates }>(
    { every: rows.size, tau: option.number({ above: 0, max: 1 }) },
    { default: { every: 50, tau: 1 } },
  ),
};

/** Rows of options that the agent passes on as they are. */
export const passedRows = {
  /** Default: [tdLoss()]. */
  losses: rows.losses<Loss<TransitionTargets, ActionValues>>("[tdLoss()]"),
  ...rows.passed,
};

const taskOptions = {
  ...settingRows,
  ...passedRows,
  ...rows.learning,
  /** With discrete actions. */
  env: required(
    option.made<VectorEnvironment>(
      "vectorEnvironment({ make, count })",
      (given) => Object(given).observationSpace !== undefined && Object(given).rows !== undefined,
      {},
    ),
  ),
  /** The probability of a random action: a ramp over `samples`, say. Default: from 1 to 0.05 over 10,000. */
  epsilon: rows.orRamp(rows.share),
};

/** Options of {@link dqnTask}. */
export interface DqnOptions extends Options<typeof taskOptions> {}

export const kind = "dqnTask";

export type DqnTaskSettings = Settings<typeof taskOptions>;

/** The options with their defaults. Refuses those that are misspelt or out of range. */
export function dqnSettings(options: DqnOptions): DqnTaskSettings {
  const settings = resolveOptions(kind, options, taskOptions);
  checkActions(kind, options.env);
  return settings;
}

/** Refuses actions that are no single choice. */
export function checkActions(
  kind: string,
  { name, actionSpace }: Pick<VectorEnvironment, "name" | "actionSpace">,
): void {
  if (actionSpace.kind === "discrete") return;
  throw new EspalierError(
    "SPACE_UNSUPPORTED",
    `${kind}: ${name} has ${actionSpace.kind} actions, and values are learned of single choices`,
    { fix: "use an environment with discrete actions, or onPolicyTask" },
  );
}

/** CleanRL's network, with a value head that is not used. */
export const network: PolicySpec = {
  encoder: { kind: "mlp", hidden: [120, 84], activation: "relu" },
  towers: "shared",
};

/** The given or described policy, which must fit the environment and have no memory. */
export function valuePolicyFor(
  kind: string,
  policy: Policy | PolicySpec | undefined,
  spaces: PolicySpaces,
): Policy {
  const made = policyFor(kind, policy ?? network, spaces);
  checkNotRecurrent(kind, "a policy", made);
  return made;
}
