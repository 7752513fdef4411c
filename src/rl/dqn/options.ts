import { badOption, checkNames, checkSize, EspalierError, shown } from "../../core/index.ts";
import type { Device, EngineChoice, Tensor } from "../../engine/index.ts";
import { checkMonitor, type MonitorOptions, type RateInputs } from "../../learner/index.ts";
import type { Loss } from "../../losses/index.ts";
import type { Params } from "../../nn/index.ts";
import type { Optimizer } from "../../optim/index.ts";
import type { Ramp } from "../../schedule/index.ts";
import type { ActionValues, TransitionTargets } from "../losses/td.ts";
import { checkFlag, checkFromZero, checkShare, orRamp } from "../on-policy/check-numbers.ts";
import { checkTensors } from "../on-policy/check-parts.ts";
import type { Policy } from "../policies/policy.ts";
import type { PolicySpec } from "../policies/spec.ts";
import type { VectorEnvironment } from "../vector/vector.ts";

/** What a task that learns what actions are worth is made of. */
export interface DqnOptions {
  /** Of one choice an action. */
  readonly environment: VectorEnvironment;
  /**
   * The parameters of its distribution, the logits of choices, are taken for the actions' values; its value function is
   * not used. Without memory. Default one tower of 120 and 84, relu.
   */
  readonly policy?: Policy | PolicySpec;
  readonly optimizer: Optimizer;
  /** Default [tdLoss()]. */
  readonly losses?: readonly Loss<TransitionTargets, ActionValues>[];
  /** Steps that every row takes before it is learned again. Default 10. */
  readonly rolloutSteps?: number;
  /** Updates after these steps. Default 1. */
  readonly updates?: number;
  /** How often an epoch does both. Default 100. */
  readonly cycles?: number;
  /** Transitions in an update. Default 128. */
  readonly batchSize?: number;
  /** Transitions that are kept. Default 10,000. */
  readonly capacity?: number;
  /** Agent steps before the first update. Default 1000. */
  readonly learningStarts?: number;
  /** How often an action is drawn at random: a ramp over `samples`, say. Default from 1 to 0.05 over 10,000. */
  readonly epsilon?: Ramp | number;
  /** How much what comes later counts. Default 0.99. */
  readonly gamma?: number;
  /** The learning network chooses the next action and the target network values it. Default false. */
  readonly double?: boolean;
  /** Every so many updates the target network goes this part of the way to the learning one. Default 50 and 1. */
  readonly target?: { readonly every?: number; readonly tau?: number };
  /** The lesson of every episode, by name or index. Default: the first, with a warning where there are several. */
  readonly lesson?: string | number;
  readonly learningRate?: Ramp | number;
  /** Others of the optimizer's rates. */
  readonly rates?: RateInputs;
  /** What is reported of every update beside its losses. */
  readonly monitor?: MonitorOptions;
  /** Parameters to start with, instead of those the policy draws. */
  readonly params?: Params<Tensor>;
  /** Where everything random comes from; the trainer's seed unless told. */
  readonly seed?: number;
  readonly engine?: EngineChoice;
  readonly device?: number | Device;
  readonly deterministic?: boolean;
}

export const kind = "dqnTask";

const names = [
  ...[
    "environment",
    "policy",
    "optimizer",
    "losses",
    "rolloutSteps",
    "updates",
    "cycles",
    "batchSize",
    "capacity",
  ],
  ...["learningStarts", "epsilon", "gamma", "double", "target", "lesson", "learningRate", "rates"],
  ...["monitor", "params"],
  ...["seed", "engine", "device", "deterministic"],
];

/** The plain numbers among the options, checked and filled in. */
export function numbersOf(options: DqnOptions) {
  checkNames(kind, options, names);
  checkNumbers(kind, options);
  orRamp(checkShare)(kind, "epsilon", options.epsilon);
  checkActions(kind, options.environment);
  const { gamma = 0.99, learningStarts = 1000, double = false } = options;
  const { every = 50, tau = 1 } = options.target ?? {};
  return {
    ...{ gamma, learningStarts, double, tau },
    every,
    rolloutSteps: options.rolloutSteps ?? 10,
    updates: options.updates ?? 1,
    cycles: options.cycles ?? 100,
    batchSize: options.batchSize ?? 128,
    capacity: options.capacity ?? 10_000,
  };
}

export type DqnNumbers = ReturnType<typeof numbersOf>;

/** Refuses numbers and switches out of their range: what can be told before there is an environment. */
export function checkNumbers(kind: string, options: Omit<Partial<DqnOptions>, "epsilon">): void {
  const { target = {}, learningStarts = 0 } = options;
  checkNames(`${kind}: target`, target, ["every", "tau"]);
  checkMonitor(kind, options.monitor ?? {});
  checkTensors(kind, options.params);
  for (const name of ["rolloutSteps", "updates", "cycles", "batchSize", "capacity"] as const)
    if (options[name] !== undefined) checkSize(kind, name, options[name]);
  if (target.every !== undefined) checkSize(kind, "target.every", target.every);
  checkShare(kind, "gamma", options.gamma);
  checkShare(kind, "target.tau", target.tau);
  if (target.tau === 0)
    throw badOption(kind, "target.tau is 0: the target would never move", "give a number above 0, up to 1");
  if (!(Number.isInteger(learningStarts) && learningStarts >= 0))
    throw badOption(kind, `learningStarts is ${shown(learningStarts)}`, "give a whole number from 0 on");
  for (const name of ["double", "deterministic"] as const) checkFlag(kind, name, options[name]);
  orRamp(checkFromZero)(kind, "learningRate", options.learningRate);
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
