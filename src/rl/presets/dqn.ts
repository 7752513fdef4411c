import { badOption, checkNames, isPlainObject } from "../../core/index.ts";
import type { Device, EngineChoice } from "../../engine/index.ts";
import { adam } from "../../optim/index.ts";
import { isRamp, linear, type Ramp } from "../../schedule/index.ts";
import type { TrainingConfig } from "../../trainer/index.ts";
import { checkActions, checkNumbers, type DqnOptions as DqnTaskOptions } from "../dqn/options.ts";
import { policyOf } from "../dqn/setup.ts";
import { type DqnTask, dqnTask } from "../dqn/task.ts";
import { checkLessons } from "../environments/environment.ts";
import { checkShare, orRamp } from "../on-policy/check-numbers.ts";
import type { PolicySpec } from "../policies/spec.ts";
import { type Agent, agentOf } from "./agent.ts";
import { checkedSettings } from "./check-settings.ts";
import {
  checkChoice,
  choiceNames,
  type EnvironmentChoice,
  ordinaryEnvironments,
  withEnvironments,
} from "./environments.ts";
import { picked } from "./picked.ts";

/** All settings of deep Q learning. */
export interface DqnSettings {
  /** Agent steps of the whole training. */
  readonly totalSteps: number;
  readonly environments: number;
  /** Steps that every environment takes before it is learned again, and updates then; an epoch does that so often. */
  readonly rolloutSteps: number;
  readonly updates: number;
  readonly cycles: number;
  readonly batchSize: number;
  /** Transitions that are kept, and agent steps before the first update. */
  readonly capacity: number;
  readonly learningStarts: number;
  /** How often actions are random: from and to which share, over which part of the training; or a number or a ramp. */
  readonly epsilon: { readonly from: number; readonly to: number; readonly over: number } | Ramp | number;
  readonly learningRate: number | Ramp;
  readonly gamma: number;
  readonly double: boolean;
  /** Every so many updates the target network goes this part of the way to the learning one. */
  readonly target: { readonly every?: number; readonly tau?: number };
  readonly policy: PolicySpec;
}

/** Options of {@link dqn}: the environment, and whatever is to differ from CleanRL's settings. */
export interface DqnAgentOptions
  extends Omit<EnvironmentChoice, "compiled">,
    Partial<DqnSettings>,
    Pick<DqnTaskOptions, "losses" | "lesson" | "monitor" | "params" | "deterministic">,
    Partial<Pick<TrainingConfig, "onNonFinite">> {
  /** Where everything random comes from. Default 0. */
  readonly seed?: number;
  readonly engine?: EngineChoice;
  readonly device?: number | Device;
}

/** CleanRL's dqn.py. */
const cleanrl: DqnSettings = {
  ...{ totalSteps: 500_000, environments: 1, rolloutSteps: 10, updates: 1, cycles: 100, batchSize: 128 },
  ...{ capacity: 10_000, learningStarts: 10_000, epsilon: { from: 1, to: 0.05, over: 0.5 } },
  ...{ learningRate: 2.5e-4, gamma: 0.99, double: false, target: { every: 50, tau: 1 } },
  policy: { encoder: { kind: "mlp", hidden: [120, 84], activation: "relu" }, towers: "shared" },
};

const taskSettings = [
  ...(["rolloutSteps", "updates", "cycles", "batchSize", "capacity", "learningStarts", "gamma"] as const),
  ...(["double", "target", "policy"] as const),
];
const settingNames: readonly (keyof DqnSettings)[] = [
  ...taskSettings,
  ...(["totalSteps", "environments", "epsilon", "learningRate"] as const),
];
const taskNames = [
  ...(["losses", "lesson", "monitor", "params", "seed", "engine", "device", "deterministic"] as const),
];
const names = [
  ...settingNames,
  ...taskNames,
  "onNonFinite",
  ...choiceNames.filter((name) => name !== "compiled"),
];

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
  checkNames(kind, options, names);
  const settings = { ...cleanrl, ...picked(options, settingNames) } as DqnSettings;
  const { epsilon, ...numbers } = settings;
  checkedSettings(kind, numbers);
  checkEpsilon(epsilon);
  checkNumbers(kind, { ...numbers, ...picked(options, ["monitor", "params", "deterministic"]) });
  const known = checkChoice(kind, options);
  if (known) {
    checkActions(kind, known);
    policyOf(kind, settings.policy, known);
    checkLessons(kind, options, known);
  }
  return agentOf({
    ...{ kind, env: options.env, settings, totalSteps: settings.totalSteps },
    ...{ engine: options.engine, seed: options.seed, lesson: options.lesson },
    onNonFinite: options.onNonFinite,
    checkSteps: (steps) => checkLearns(settings, steps),
    begin: () => {
      const environment = ordinaryEnvironments(kind, options, settings.environments);
      const samplesPerEpoch = settings.cycles * settings.rolloutSteps * environment.rows;
      const task = (epochs: number): DqnTask => {
        const steps = epochs * samplesPerEpoch;
        return dqnTask({
          ...{ environment, optimizer: adam(), learningRate: settings.learningRate },
          epsilon: epsilonOf(settings.epsilon, steps),
          ...picked(settings, taskSettings),
          ...picked(options, taskNames),
        });
      };
      return { samplesPerEpoch, task: (epochs) => withEnvironments(environment, () => task(epochs)) };
    },
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

function checkEpsilon(given: DqnSettings["epsilon"]): void {
  const kind = "dqn";
  if (!isPlainObject(given) || isRamp(given)) {
    orRamp(checkShare)(kind, "epsilon", given);
    return;
  }
  checkNames(`${kind}: epsilon`, given, ["from", "to", "over"]);
  for (const name of ["from", "to", "over"] as const) {
    if (given[name] === undefined)
      throw badOption(kind, `epsilon.${name} is undefined`, "give all of { from, to, over }");
    checkShare(kind, `epsilon.${name}`, given[name]);
  }
}

function epsilonOf(epsilon: DqnSettings["epsilon"], samples: number): Ramp | number {
  if (typeof epsilon === "number" || "at" in epsilon) return epsilon;
  const { from, to, over } = epsilon;
  return linear({ from, to, over: { samples: Math.max(1, Math.round(over * samples)) } });
}
