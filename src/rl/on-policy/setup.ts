import { checkSize, treeLeaves } from "../../core/index.ts";
import {
  type CompileOptions,
  compile,
  type Device,
  put,
  type Tensor,
  type Value,
} from "../../engine/index.ts";
import { rateRamps, TensorState } from "../../learner/index.ts";
import { objective as lossesObjective } from "../../losses/index.ts";
import type { Params } from "../../nn/index.ts";
import type { OptimizerState } from "../../optim/index.ts";
import { RandomStreams } from "../../random/index.ts";
import { lessonOf } from "../environments/environment.ts";
import type { Experience, PolicyOutputs } from "../experience/experience.ts";
import { buildPolicy } from "../policies/build.ts";
import type { Policy } from "../policies/policy.ts";
import { checkDivergence, checkOptions, checkPolicy, isCompiled, kind } from "./check-options.ts";
import { corrected } from "./correct.ts";
import { forward } from "./forward.ts";
import { layoutOf, type PolicyObjective } from "./layout.ts";
import type { LearnSpec } from "./learn.ts";
import type { OnPolicyOptions } from "./options.ts";
import { betaRamp, orderOf } from "./order.ts";
import { reportedNames } from "./reported-names.ts";
import { sidesOf } from "./sides.ts";
import { sizesOf } from "./sizes.ts";

/** Everything a task consists of but its environments: policy, losses, parameters, how experience is laid out. */
export function setUp(options: OnPolicyOptions) {
  checkOptions(options);
  const { environment, optimizer, gamma = 0.99, lambda = 0.95 } = options;
  const within = isCompiled(environment);
  const { observationSpace, actionSpace } = within ? environment.compiled : environment;
  const rows = within ? environment.count * (environment.compiled.agents ?? 1) : environment.rows;
  const policy = policyFor(
    kind,
    options.policy,
    { observationSpace, actionSpace },
    options.normalize?.observations,
  );
  const tuner = typeof options.updateEpochs === "object" ? options.updateEpochs : undefined;
  const updateEpochs = tuner ? tuner.max : checkSize(kind, "updateEpochs", options.updateEpochs ?? 1);
  const sizes = sizesOf(kind, options, policy, rows);

  const where = {
    ...(options.engine !== undefined && { engine: options.engine }),
    ...(options.device !== undefined && { device: options.device }),
  };
  const keys = drawKeys(new RandomStreams(options.seed ?? 0));
  const first = options.params ?? policy.init(keys.params, where);
  const device = (treeLeaves<Tensor>(first as never)[0] as Tensor).device;
  const on: CompileOptions = { engine: device.engine, device: device.index };
  // On a CPU donating costs, and old tensors that are disposed of at once leave as little behind.
  const donated = device.kind !== "cpu";
  const params = new TensorState<Params>("params", first, {
    device,
    donated,
    lent: options.params !== undefined,
  });
  const init = compile((arrays: readonly Value[]) => optimizer.init(params.packing.unpack(arrays)), {
    ...on,
    name: "init",
  });
  const state = new TensorState<OptimizerState>("optimizer", init(params.now), {
    device,
    donated,
    lent: false,
  });

  const priority = options.prioritized && { alpha: 0.8, beta: 0.2, ...options.prioritized };
  const correct = options.vtrace && { rhoBar: 1, cBar: 1, ...options.vtrace };
  const objective: PolicyObjective = lossesObjective<Experience, PolicyOutputs>({
    forward: forward(policy, sizes),
    losses: options.losses,
  });
  const others = {
    ...objective.ramps,
    ...(typeof priority?.beta === "object" && { [betaRamp]: priority.beta }),
  };
  const rates = rateRamps(kind, optimizer, ratesGiven(options), others);
  const masks = within
    ? environment.compiled.actionMask !== undefined
    : environment.actionMasks !== undefined;
  // Ordinary environments tell themselves which lessons their episodes had.
  const lessons = within && options.curriculum !== undefined;
  const lesson = lessonOf(kind, within ? environment.compiled : environment, options.lesson);
  const layout = layoutOf(policy, objective, first, rows, {
    ...{ masks, lessons, correct: correct !== undefined, prioritized: priority !== undefined },
  });
  if (tuner || options.targetKl !== undefined)
    checkDivergence(options, reportedNames({ policy, objective, layout, sizes, params: first }));
  // By one loop on xla on a CPU, by halving elsewhere: as each is faster.
  const parallel = !(device.engine === "xla" && device.kind === "cpu");
  const sides = sidesOf(options, policy, rows, parallel);
  const loops = !(policy.convolves && device.engine === "xla" && device.kind === "cpu");
  const order = orderOf({ layout, sizes, priority });
  const normalizeBatch = options.normalizeAdvantages ?? false;
  const correction = correct && {
    ...{ policy, layout, sizes, gamma, lambda, normalizeBatch, parallel, ...correct },
  };

  const learnSpec = (losses: readonly string[]): LearnSpec => ({
    ...{ sizes, layout, updateEpochs, optimizer, rates, order, loops },
    correct: correction && ((gathered, params) => corrected(correction, gathered, params)),
    evaluate: objective.evaluate(losses),
    monitor: options.monitor ?? {},
    targetKl: options.targetKl,
  });
  const finishSpec = {
    ...{ sizes, layout, sides, gamma, lambda, normalizeBatch, parallel },
  };
  return {
    ...{
      options,
      policy,
      sizes,
      updateEpochs,
      tuner,
      device,
      on,
      where,
      donated,
      params,
      state,
      init,
      objective,
    },
    ...{ rates, layout, sides, loops, learnSpec, finishSpec, masks, lessons, lesson, first },
    put: (data: Float32Array | Int32Array | Uint32Array, shape?: readonly number[]): Tensor =>
      put(data, { ...(on as { engine: Device["engine"]; device: number }), ...(shape && { shape }) }),
  };
}

export type SetUp = ReturnType<typeof setUp>;

/** What a task draws, once: the rest follows from these and from counts. */
export const drawKeys = (streams: RandomStreams) => ({
  params: streams.get("params").key(),
  world: streams.get("environments").key(),
  /** Of rollouts, of the order of experience, of losses. */
  steps: [streams.get("actions").key(), streams.get("order").key(), streams.get("losses").key()] as const,
});

/** The policy that is given or described, which must fit the environment. */
export function policyFor(
  kind: string,
  given: OnPolicyOptions["policy"],
  spaces: Pick<Policy, "observationSpace" | "actionSpace">,
  normalized = false,
): Policy {
  if (!(given && typeof given === "object" && "step" in given))
    return buildPolicy(given ?? {}, spaces, { normalized });
  checkPolicy(kind, given, spaces);
  return given;
}

/** The rates that are inputs of the program: those given, and the learning rate always. */
function ratesGiven({ optimizer, learningRate, rates }: OnPolicyOptions) {
  const own = optimizer.rates.learningRate;
  const rate = learningRate ?? (typeof own === "number" ? own : undefined);
  return { ...(rate !== undefined && { learningRate: rate }), ...rates };
}
