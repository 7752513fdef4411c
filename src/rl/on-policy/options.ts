import {
  badOption,
  checkOptions,
  checkSize,
  EspalierError,
  type Options,
  option,
  required,
} from "../../core/index.ts";
import type { Loss } from "../../losses/index.ts";
import type { Ramp } from "../../schedule/index.ts";
import type { CompiledEnvironment } from "../environments/compiled.ts";
import { checkLessons } from "../environments/environment.ts";
import type { Experience, PolicyOutputs } from "../experience/experience.ts";
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

/** Rows of options that are settings of agents, too. */
export const settingRows = {
  /** Passes over a rollout: a number, or `autoUpdateEpochs({ ... })`. Default: 1. */
  updateEpochs: option.either(rows.size, rows.tunedEpochs, {}),
  /** Steps of every row in a rollout. */
  rolloutSteps: required(rows.size),
  /** Minibatches of an update epoch. Default: 1. */
  minibatches: rows.size,
  /** Discount. Default: 0.99. */
  gamma: rows.share,
  /** The lambda of GAE. Default: 0.95. */
  lambda: rows.share,
  /** Default: two separate towers of 64 and 64, tanh. */
  policy: rows.policy,
};

/** Rows of options that agents pass on as they are. */
export const passedRows = {
  ...rows.passed,
  /** Subtracts the running mean of rewards, which moves at this rate (1e-3 for true). Default: false. */
  centerRewards: option.either(rows.flag, rows.share, {}),
  /** Steps that stay together when a rollout is shuffled. Default: 1, and all steps for recurrent policies. */
  segment: rows.size,
  /** Chooses lessons, for environments that have some. Default: the one that `lesson` names. */
  curriculum: rows.curriculum,
  /** The most epochs in one call, for compiled environments. Default: 32. */
  maxEpochs: rows.size,
};

/** Rows of options that PPO passes on, beside {@link passedRows}. */
export const repeatedUpdateRows = {
  /** Skips updates after this approximate KL divergence until the next rollout. Default: never. */
  targetKl: rows.positive,
  /** Recomputes advantages before each update epoch, in V-trace form. Default: not. */
  vtrace: option.group<{ readonly rhoBar?: number; readonly cBar?: number }>(
    { rhoBar: rows.positive, cBar: rows.positive },
    {},
  ),
  /** Draws segments more often the larger their advantages are. Default: each once. */
  prioritized: option.group<{ readonly alpha?: number; readonly beta?: number | Ramp }>(
    { alpha: rows.share, beta: rows.orRamp(rows.share) },
    {},
  ),
};

const taskOptions = {
  ...settingRows,
  ...passedRows,
  ...repeatedUpdateRows,
  ...rows.learning,
  env: required(
    option.made<VectorEnvironment | CompiledEnvironments>(
      'vectorEnvironment({ make, count }), or { compiled: compiledEnvironment("CartPole-v1"), count }',
      isEnvironments,
      {},
    ),
  ),
  losses: required(
    rows.losses<Loss<Experience, PolicyOutputs>>("[policyLoss(), valueLoss(), entropyLoss()]"),
  ),
  /** Normalizes observations by their running mean and variance, rewards by that of returns. Default: neither. */
  normalize: option.group<{ readonly observations?: boolean; readonly rewards?: boolean }>(
    { observations: rows.flag, rewards: rows.flag },
    {},
  ),
  /** Normalizes advantages over the whole rollout, before losses see them. Default: false. */
  normalizeAdvantages: rows.flag,
};

/** Options of {@link onPolicyTask}. */
export interface OnPolicyOptions extends Options<typeof taskOptions> {}

export const kind = "onPolicyTask";

/** Refuses options that are misspelt or out of range, before anything is made of them. */
export function checkOnPolicy(options: OnPolicyOptions): void {
  checkOptions(kind, options, taskOptions);
  if (isCompiled(options.env)) checkSize(kind, "env.count", options.env.count);
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
export type RolloutSizes = ReturnType<typeof sizesOf>;

/** Cuts a rollout into segments, and these into minibatches of one size. */
export function sizesOf(
  kind: string,
  options: Pick<OnPolicyOptions, "rolloutSteps" | "minibatches" | "segment">,
  policy: Policy,
  rows: number,
) {
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
  return {
    /** Steps of a rollout, and rows that step together. */
    steps,
    rows,
    /** Steps that stay together when a rollout is shuffled: 1 for policies without memory. */
    segment,
    /** Segments of a rollout, and of a minibatch. */
    segments,
    batch: segments / minibatches,
    minibatches,
  };
}
