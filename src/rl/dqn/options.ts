import { EspalierError, type OptionTable, option, resolveOptions, type Settings } from "../../core/index.ts";
import type { Device, EngineChoice, Tensor } from "../../engine/index.ts";
import {
  checkMonitor,
  type DevicesOption,
  type MonitorOptions,
  type RateInputs,
} from "../../learner/index.ts";
import type { Loss } from "../../losses/index.ts";
import type { Params } from "../../nn/index.ts";
import type { Optimizer } from "../../optim/index.ts";
import type { Ramp } from "../../schedule/index.ts";
import type { ActionValues, TransitionTargets } from "../losses/td.ts";
import { policyFor } from "../on-policy/options.ts";
import * as rows from "../option-rows.ts";
import { checkNotRecurrent, type Policy, type PolicySpaces } from "../policies/policy.ts";
import type { PolicySpec } from "../policies/spec.ts";
import type { VectorEnvironment } from "../vector/vector.ts";

/** Options of {@link dqnTask}. */
export interface DqnOptions {
  /** With discrete actions. */
  readonly env: VectorEnvironment;
  /**
   * The parameters of its distribution, the logits of choices, are the action values; its value function is not used.
   * Without memory. Default: one tower of 120 and 84, relu.
   */
  readonly policy?: Policy | PolicySpec;
  readonly optimizer: Optimizer;
  /** Default: [tdLoss()]. */
  readonly losses?: readonly Loss<TransitionTargets, ActionValues>[];
  /** Steps of every row before the next updates. Default: 10. */
  readonly rolloutSteps?: number;
  /** Updates after these steps. Default: 1. */
  readonly updates?: number;
  /** Repetitions of both in an epoch. Default: 100. */
  readonly cycles?: number;
  /** Transitions of an update. Default: 128. */
  readonly batchSize?: number;
  /** Transitions in the replay buffer. Default: 10,000. */
  readonly capacity?: number;
  /** Agent steps before the first update. Default: 1000. */
  readonly learningStarts?: number;
  /** The probability of a random action: a ramp over `samples`, say. Default: from 1 to 0.05 over 10,000. */
  readonly epsilon?: Ramp | number;
  /** Discount. Default: 0.99. */
  readonly gamma?: number;
  /** The learning network chooses the next action and the target network evaluates it. Default: false. */
  readonly double?: boolean;
  /** The target network moves by `tau` towards the learning one `every` few updates. Default: 50 and 1. */
  readonly target?: { readonly every?: number; readonly tau?: number };
  /** The lesson of every episode, by name or index. Default: the first, with a warning if there are several. */
  readonly lesson?: string | number;
  readonly learningRate?: Ramp | number;
  /** Further rates of the optimizer. */
  readonly rates?: RateInputs;
  /** Reported statistics of every update. */
  readonly monitor?: MonitorOptions;
  /** Initial parameters. Default: drawn by the policy. */
  readonly params?: Params<Tensor>;
  /** Default: the trainer's seed. */
  readonly seed?: number;
  readonly engine?: EngineChoice;
  readonly device?: number | Device;
  /** Devices that train together, each on an equal part of every batch. Default: 1. */
  readonly devices?: DevicesOption;
  readonly deterministic?: boolean;
}

/** The options of a task that the preset passes on, which are checked before there is an environment. */
export const sharedOptions = {
  policy: rows.policy,
  losses: rows.losses<Loss<TransitionTargets, ActionValues>>("[tdLoss()]"),
  rolloutSteps: option.integer({ min: 1, default: 10 }),
  updates: option.integer({ min: 1, default: 1 }),
  cycles: option.integer({ min: 1, default: 100 }),
  batchSize: option.integer({ min: 1, default: 128 }),
  capacity: option.integer({ min: 1, default: 10_000 }),
  learningStarts: option.integer({ min: 0, default: 1000 }),
  gamma: option.number({ min: 0, max: 1, default: 0.99 }),
  double: option.flag({ default: false }),
  // With a tau of 0 the target would never move.
  target: option.group<NonNullable<DqnOptions["target"]>>(
    { every: rows.size, tau: option.number({ above: 0, max: 1 }) },
    {},
  ),
  lesson: rows.lesson,
  learningRate: rows.orRamp(rows.fromZero),
  monitor: option.made<MonitorOptions>("{ gradients: true }", () => true, {}),
  params: rows.params,
  seed: rows.checkedElsewhere.seed,
  engine: rows.checkedElsewhere.engine,
  device: rows.checkedElsewhere.device,
  devices: rows.checkedElsewhere.devices,
  deterministic: rows.flag,
} satisfies Partial<OptionTable<DqnOptions>>;

const taskOptions = {
  ...sharedOptions,
  env: option.made<VectorEnvironment>(
    "vectorEnvironment({ make, count })",
    (given) => Object(given).observationSpace !== undefined && Object(given).rows !== undefined,
    { required: true },
  ),
  optimizer: { ...rows.optimizer, required: true },
  epsilon: rows.orRamp(rows.share),
  rates: rows.checkedElsewhere.rates,
} satisfies OptionTable<DqnOptions>;

export const kind = "dqnTask";

export type DqnTaskSettings = Settings<typeof taskOptions>;

/** The options with their defaults. Refuses those that are misspelt or out of range. */
export function dqnSettings(options: DqnOptions): DqnTaskSettings {
  const settings = resolveOptions(kind, options, taskOptions);
  checkMonitor(kind, options.monitor ?? {});
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
