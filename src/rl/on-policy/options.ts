import {
  badOption,
  checkOptions,
  checkSize,
  EspalierError,
  type OptionTable,
  option,
} from "../../core/index.ts";
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
import type { Curriculum } from "../curriculum/curriculum.ts";
import type { CompiledEnvironment } from "../environments/compiled.ts";
import { checkLessons } from "../environments/environment.ts";
import type { Experience, PolicyOutputs } from "../experience/experience.ts";
import type { UpdateEpochs } from "../experience/update-epochs.ts";
import * as rows from "../option-rows.ts";
import { buildPolicy } from "../policies/build.ts";
import type { Policy, PolicySpaces } from "../policies/policy.ts";
import type { PolicySpec } from "../policies/spec.ts";
import { actionSize, choices, flatSize } from "../spaces/index.ts";
import type { VectorEnvironment } from "../vector/vector.ts";

/** Environments that run inside the program. */
export interface CompiledEnvironments {
  readonly compiled: CompiledEnvironment;
  readonly count: number;
}

/** Options of {@link onPolicyTask}. */
export interface OnPolicyOptions {
  readonly env: VectorEnvironment | CompiledEnvironments;
  /** Default: two separate towers of 64 and 64, tanh. */
  readonly policy?: Policy | PolicySpec;
  readonly losses: readonly Loss<Experience, PolicyOutputs>[];
  readonly optimizer: Optimizer;
  /** Steps of every row in a rollout. */
  readonly rolloutSteps: number;
  /** Passes over a rollout: a number, or `autoUpdateEpochs({ ... })`. Default: 1. */
  readonly updateEpochs?: number | UpdateEpochs;
  /** Minibatches of an update epoch. Default: 1. */
  readonly minibatches?: number;
  /** Discount. Default: 0.99. */
  readonly gamma?: number;
  /** The lambda of GAE. Default: 0.95. */
  readonly lambda?: number;
  /** Normalizes observations by their running mean and variance, rewards by that of returns. Default: neither. */
  readonly normalize?: { readonly observations?: boolean; readonly rewards?: boolean };
  /** Normalizes advantages over the whole rollout, before losses see them. Default: false. */
  readonly normalizeAdvantages?: boolean;
  /** Subtracts the running mean of rewards, which moves at this rate (1e-3 for true). Default: false. */
  readonly centerRewards?: boolean | number;
  /** Skips updates after this approximate KL divergence until the next rollout. Default: never. */
  readonly targetKl?: number;
  /** Recomputes advantages before each update epoch, in V-trace form. Default: not. */
  readonly vtrace?: { readonly rhoBar?: number; readonly cBar?: number };
  /** Steps that stay together when a rollout is shuffled. Default: 1, and all steps for recurrent policies. */
  readonly segment?: number;
  /** Draws segments more often the larger their advantages are. Default: each once. */
  readonly prioritized?: { readonly alpha?: number; readonly beta?: number | Ramp };
  /** Chooses lessons, for environments that have some. Default: the one that `lesson` names. */
  readonly curriculum?: Curriculum;
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
  /** The most epochs in one call, for compiled environments. Default: 32. */
  readonly maxEpochs?: number;
  readonly engine?: EngineChoice;
  readonly device?: number | Device;
  /**
   * Devices that train together: each learns from an equal part of every minibatch, and steps an equal part of
   * environments that are compiled. Default: 1.
   */
  readonly devices?: DevicesOption;
  readonly deterministic?: boolean;
}

/** The options of a task that presets pass on, which are checked before there is an environment. */
export const sharedOptions = {
  updateEpochs: option.either(rows.size, rows.tunedEpochs, {}),
  rolloutSteps: rows.size,
  minibatches: rows.size,
  gamma: rows.share,
  lambda: rows.share,
  centerRewards: option.either(rows.flag, rows.share, {}),
  targetKl: rows.positive,
  vtrace: option.group({ rhoBar: rows.positive, cBar: rows.positive }, {}),
  segment: rows.size,
  prioritized: option.group({ alpha: rows.share, beta: rows.orRamp(rows.share) }, {}),
  curriculum: rows.curriculum,
  lesson: rows.lesson,
  monitor: option.made<MonitorOptions>("{ gradients: true }", () => true, {}),
  params: rows.params,
  maxEpochs: rows.size,
  deterministic: rows.flag,
  seed: rows.checkedElsewhere.seed,
  engine: rows.checkedElsewhere.engine,
  device: rows.checkedElsewhere.device,
  devices: rows.checkedElsewhere.devices,
  policy: rows.policy,
} satisfies Partial<OptionTable<OnPolicyOptions>>;

const taskOptions = {
  ...sharedOptions,
  env: option.made<OnPolicyOptions["env"]>(
    'vectorEnvironment({ make, count }), or { compiled: compiledEnvironment("CartPole-v1"), count }',
    isEnvironments,
    { required: true },
  ),
  rolloutSteps: option.integer({ min: 1, required: true }),
  losses: {
    ...rows.losses<OnPolicyOptions["losses"][number]>("[policyLoss(), valueLoss(), entropyLoss()]"),
    required: true,
  },
  optimizer: { ...rows.optimizer, required: true },
  normalize: option.group({ observations: rows.flag, rewards: rows.flag }, {}),
  normalizeAdvantages: rows.flag,
  learningRate: rows.orRamp(rows.fromZero),
  rates: rows.checkedElsewhere.rates,
} satisfies OptionTable<OnPolicyOptions>;

export const kind = "onPolicyTask";

/** Refuses options that are misspelt or out of range, before anything is made of them. */
export function checkOnPolicy(options: OnPolicyOptions): void {
  checkOptions(kind, options, taskOptions);
  if (isCompiled(options.env)) checkSize(kind, "env.count", options.env.count);
  checkMonitor(kind, options.monitor ?? {});
  checkLessons(kind, options, environmentOf(options.env));
}

function isEnvironments(given: unknown): boolean {
  const { compiled, observationSpace, rows } = Object(given) as Partial<
    VectorEnvironment & CompiledEnvironments
  >;
  if (compiled !== undefined) return Object(compiled).observationSpace !== undefined;
  return observationSpace !== undefined && rows !== undefined;
}

export const isCompiled = (env: OnPolicyOptions["env"]): env is CompiledEnvironments => "compiled" in env;

/** Spaces, name and lessons of a task's environments. */
export const environmentOf = (env: OnPolicyOptions["env"]) => (isCompiled(env) ? env.compiled : env);

/** Agents that step together. */
export const rowsIn = (env: OnPolicyOptions["env"]): number =>
  isCompiled(env) ? env.count * (env.compiled.agents ?? 1) : env.rows;

/** The given or described policy, which must fit the environment. */
export function policyFor(
  kind: string,
  given: Policy | PolicySpec | undefined,
  spaces: PolicySpaces,
  normalized = false,
): Policy {
  if (!(given && "step" in given)) return buildPolicy(given ?? {}, spaces, { normalized });
  const described = ({ observationSpace, actionSpace }: PolicySpaces): string => {
    const many = actionSpace.kind === "box" ? "" : ` of ${choices(actionSpace)} choices`;
    return `observations of ${flatSize(observationSpace)} numbers and ${actionSpace.kind} actions of ${actionSize(actionSpace)}${many}`;
  };
  if (described(given) === described(spaces)) return given;
  throw new EspalierError(
    "POLICY_MISMATCH",
    `${kind}: the policy is made for ${described(given)}, and the environment has ${described(spaces)}`,
    { fix: "make it for the environment: buildPolicy(spec, environment), or give its spec" },
  );
}

/** The dimensions of a rollout and of its minibatches. */
export interface RolloutSizes {
  /** Steps of a rollout, and rows that step together. */
  readonly steps: number;
  readonly rows: number;
  /** Steps that stay together when a rollout is shuffled: 1 for policies without memory. */
  readonly segment: number;
  /** Segments of a rollout, and of a minibatch. */
  readonly segments: number;
  readonly batch: number;
  readonly minibatches: number;
}

/** Cuts a rollout into segments, and these into minibatches of one size. */
export function sizesOf(
  kind: string,
  options: Pick<OnPolicyOptions, "rolloutSteps" | "minibatches" | "segment">,
  policy: Policy,
  rows: number,
): RolloutSizes {
  const { rolloutSteps: steps, minibatches = 1, segment = policy.recurrent ? steps : 1 } = options;
  if (steps % segment !== 0)
    throw badOption(
      kind,
      `${steps} steps cannot be cut into segments of ${segment}`,
      "let segment divide rolloutSteps",
    );
  const segments = (steps / segment) * rows;
  if (segments % minibatches !== 0)
    throw badOption(
      kind,
      `${segments} ${segment === 1 ? "steps" : "segments"} (${steps} steps of ${rows} rows) cannot be cut into ${minibatches} minibatches of one size`,
      segment > 1
        ? "take fewer minibatches, more environments, or a shorter segment"
        : "let minibatches divide rolloutSteps times environments",
    );
  return { steps, rows, segment, segments, batch: segments / minibatches, minibatches };
}
