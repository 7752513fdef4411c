import {
  badOption,
  checkOptions,
  type Options,
  option,
  required,
  resolveOptions,
  type Settings,
} from "../../core/index.ts";
import { placeOf } from "../../learner/index.ts";
import { adam } from "../../optim/index.ts";
import { isRamp, linear, type Ramp } from "../../schedule/index.ts";
import {
  checkActions,
  network,
  passedRows,
  settingRows as taskSettingRows,
  valuePolicyFor,
} from "../dqn/options.ts";
import { type DqnTask, dqnTask } from "../dqn/task.ts";
import { checkLessons } from "../environments/environment.ts";
import * as rows from "../option-rows.ts";
import type { VectorEnvironment } from "../vector/vector.ts";
import { type Agent, agentOf, nonFiniteRow, pickOptions } from "./agent.ts";
import { environmentRows, hostEnvironments, knownEnvironment } from "./environments.ts";

const share = required(rows.share);
const rangeRows = { from: share, to: share, over: share };
type EpsilonRange = Options<typeof rangeRows>;
const defaultEpsilon: EpsilonRange = { from: 1, to: 0.05, over: 0.5 };

/** The settings of the task and of its agent. Their defaults are those of CleanRL's dqn.py. */
const settingRows = {
  ...taskSettingRows,
  learningStarts: option.integer({ min: 0, default: 10_000 }),
  policy: rows.policySpec,
  /** Agent steps of the whole training. */
  totalSteps: option.integer({ min: 1, default: 500_000 }),
  environments: option.integer({ min: 1, default: 1 }),
  /** The probability of random actions: from, to, over which part of the training; or a number or a ramp. */
  epsilon: option.either(rows.orRamp(rows.share), option.group<EpsilonRange>(rangeRows, {}), {
    default: defaultEpsilon,
  }),
  learningRate: option.either(rows.positive, rows.ramp, { default: 2.5e-4 }),
};

/** All settings of deep Q learning. */
export interface DqnSettings extends Settings<typeof settingRows> {}

const cleanrl: DqnSettings = { ...resolveOptions("dqn", {}, settingRows), policy: network };

const { compiled: _, ...vectorRows } = environmentRows;
const optionRows = { ...settingRows, ...passedRows, ...vectorRows, onNonFinite: nonFiniteRow };

/** Options of {@link dqn}: the environment, and all that differs from CleanRL's settings. */
export interface DqnAgentOptions extends Options<typeof optionRows> {}

/**
 * Deep Q learning with CleanRL's settings, for environments with one choice an action. Every setting can be changed by
 * its name.
 *
 * @example
 * ```ts
 * const agent = dqn({ env: "CartPole-v1", double: true, seed: 1 });
 * await agent.train({ steps: 100_000 });
 * console.log((await agent.evaluate({ episodes: 20 })).return);
 * ```
 */
export function dqn(options: DqnAgentOptions): Agent<DqnTask, DqnSettings> {
  const kind = "dqn";
  checkOptions(kind, options, optionRows);
  const settings: DqnSettings = { ...cleanrl, ...pickOptions(options, settingRows) };
  if (isRange(settings.epsilon)) checkOptions(`${kind}: epsilon`, settings.epsilon, rangeRows);
  placeOf(kind, options);
  const known = knownEnvironment(kind, options);
  if (known) {
    checkActions(kind, known);
    valuePolicyFor(kind, settings.policy, known);
    checkLessons(kind, options, known);
  }
  const samplesPerEpoch = ({ rows }: VectorEnvironment): number =>
    settings.cycles * settings.rolloutSteps * rows;
  return agentOf({
    kind,
    options,
    settings,
    checkSteps: (steps) => checkLearns(settings, steps),
    environments: () => hostEnvironments(kind, options, settings.environments),
    samplesPerEpoch,
    task: (env, epochs) =>
      dqnTask({
        env,
        optimizer: adam(),
        learningRate: settings.learningRate,
        epsilon: epsilonOf(settings.epsilon, epochs * samplesPerEpoch(env)),
        ...pickOptions(settings, taskSettingRows),
        ...pickOptions(options, passedRows),
      }),
  });
}

function checkLearns({ learningStarts }: DqnSettings, steps: number): void {
  if (learningStarts > steps)
    throw badOption(
      "dqn",
      `learningStarts is ${learningStarts}, and the training has ${steps} steps: nothing would be learned`,
      "train for longer, or give a smaller learningStarts",
    );
}

const isRange = (epsilon: DqnSettings["epsilon"]): epsilon is EpsilonRange =>
  typeof epsilon !== "number" && !isRamp(epsilon);

function epsilonOf(epsilon: DqnSettings["epsilon"], samples: number): Ramp | number {
  if (!isRange(epsilon)) return epsilon;
  const { from, to, over } = epsilon;
  return linear({ from, to, over: { samples: Math.max(1, Math.round(over * samples)) } });
}
