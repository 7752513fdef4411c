import { EspalierError } from "../../core/index.ts";
import { Learner } from "../../learner/index.ts";
import { objective as lossesObjective } from "../../losses/index.ts";
import type { Ramp } from "../../schedule/index.ts";
import { lessonOf } from "../environments/environment.ts";
import type { Experience, PolicyOutputs } from "../experience/experience.ts";
import { flatSize } from "../spaces/index.ts";
import { layoutOf, type PolicyObjective } from "./layout.ts";
import { betaRamp, forward, metricNames, shuffleBy } from "./learn.ts";
import { transformsFor } from "./normalize.ts";
import {
  checkOnPolicy,
  environmentOf,
  isCompiled,
  kind,
  type OnPolicyOptions,
  policyFor,
  rowsIn,
  sizesOf,
} from "./options.ts";

/** The parts of a task that its programs are traced from. */
export type OnPolicySetup = Readonly<ReturnType<typeof setUp>>;

/** Resolves the parts of a task from its options. */
export function setUp(options: OnPolicyOptions) {
  checkOnPolicy(options);
  const { env, gamma = 0.99, lambda = 0.95, normalize = {}, updateEpochs = 1, targetKl } = options;
  const rows = rowsIn(env);
  const policy = policyFor(kind, options.policy, environmentOf(env), normalize.observations);
  const sizes = sizesOf(kind, options, policy, rows);
  const objective: PolicyObjective = lossesObjective<Experience, PolicyOutputs>({
    forward: forward(policy, sizes),
    losses: options.losses,
  });
  const priority = options.prioritized && { alpha: 0.8, beta: 0.2, ...options.prioritized };
  const ramps: Readonly<Record<string, Ramp>> = {
    ...objective.ramps,
    ...(typeof priority?.beta === "object" && { [betaRamp]: priority.beta }),
  };
  const learner = new Learner({
    ...options,
    task: kind,
    ramps,
    init: (key, where) => policy.init(key, where),
  });
  learner.checkShare(`a minibatch's number of ${sizes.segment === 1 ? "steps" : "segments"}`, sizes.batch);
  if (isCompiled(env)) learner.checkShare("the number of environments", env.count);
  const { device, params } = learner;
  const parallel = !(device.engine === "xla" && device.kind === "cpu");
  const layout = layoutOf({
    policy,
    objective,
    params,
    rows,
    masks: isCompiled(env) ? env.compiled.actionMask !== undefined : env.actionMasks !== undefined,
    // Environments on the host report the lessons of their episodes themselves.
    lessons: isCompiled(env) && options.curriculum !== undefined,
    vtrace: options.vtrace !== undefined,
    prioritized: priority !== undefined,
  });
  if (typeof updateEpochs === "object" || targetKl !== undefined)
    checkDivergence(options, metricNames({ policy, objective, layout, sizes, learner }));
  return {
    policy,
    objective,
    sizes,
    layout,
    transforms: transformsFor({ ...options, rows, size: flatSize(policy.observationSpace), parallel }),
    gae: {
      gamma,
      lambda,
      /** Normalizes advantages over the whole rollout. */
      normalize: options.normalizeAdvantages ?? false,
      /** By one loop over time, or by doubling: as the engine is faster. See `advantages`. */
      parallel,
    },
    vtrace: options.vtrace && { rhoBar: 1, cBar: 1, ...options.vtrace },
    shuffle: shuffleBy({ layout, sizes, priority }),
    targetKl,
    /** The most update epochs of a rollout. */
    updateEpochs: typeof updateEpochs === "object" ? updateEpochs.max : updateEpochs,
    learner,
  };
}

/** Refuses options that depend on the divergence of the policy where no loss reports it. */
function checkDivergence({ targetKl, updateEpochs }: OnPolicyOptions, reported: readonly string[]): void {
  const refuse = (what: string, missing: string, instead: string): never => {
    throw new EspalierError("OPTION_INVALID", `${kind}: ${what} goes by ${missing}, which no loss reports`, {
      fix: `add policyLoss() under its own name, "policy", or ${instead}`,
    });
  };
  const [kl, clipped] = ["policy.approxKl", "policy.clipFraction"] as const;
  if (targetKl !== undefined && !reported.includes(kl)) refuse("targetKl", kl, "leave targetKl out");
  if (typeof updateEpochs !== "object" || [kl, clipped].every((name) => reported.includes(name))) return;
  refuse("what chooses updateEpochs", `${kl} and ${clipped}`, "give updateEpochs as a number");
}

/** The index of the lesson of all episodes where no curriculum chooses. */
export const lessonIn = (options: OnPolicyOptions): number =>
  lessonOf(kind, environmentOf(options.env), options.lesson);
