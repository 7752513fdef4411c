import { treeLeaves } from "../../core/index.ts";
import { type CompileOptions, compile, np, type Tensor, type Value } from "../../engine/index.ts";
import { RampNumbers, rateRamps, TensorState } from "../../learner/index.ts";
import { objective as lossesObjective } from "../../losses/index.ts";
import type { Params } from "../../nn/index.ts";
import type { OptimizerState } from "../../optim/index.ts";
import { RandomStreams } from "../../random/index.ts";
import { replayBuffer } from "../experience/replay-buffer.ts";
import { type ActionValues, type TransitionTargets, tdLoss } from "../losses/td.ts";
import { policyFor } from "../on-policy/setup.ts";
import { checkNotRecurrent, type Policy, type PolicySpaces } from "../policies/policy.ts";
import { valueAt, valuesOf } from "./action-values.ts";
import { transitionFields } from "./gathering.ts";
import { type DqnOptions, kind, numbersOf } from "./options.ts";
import { learnProgram } from "./program.ts";

/** CleanRL's network, with a value head that nothing asks. */
const network = {
  encoder: { kind: "mlp", hidden: [120, 84], activation: "relu" },
  towers: "shared",
} as const;

/** The policy that is given or described, for an environment. */
export function policyOf(kind: string, policy: DqnOptions["policy"], environment: PolicySpaces): Policy {
  const made = policyFor(kind, policy ?? network, environment);
  checkNotRecurrent(kind, "a policy", made);
  return made;
}

/** Everything the task consists of, in the order in which it is set up: network, losses, experience, programs. */
export function setUp(options: DqnOptions) {
  const numbers = numbersOf(options);
  const { environment, optimizer } = options;
  const policy = policyOf(kind, options.policy, environment);
  const where = {
    ...(options.engine !== undefined && { engine: options.engine }),
    ...(options.device !== undefined && { device: options.device }),
  };
  const streams = new RandomStreams(options.seed ?? 0);
  const first = options.params ?? policy.init(streams.get("params").key(), where);
  const device = (treeLeaves<Tensor>(first as never)[0] as Tensor).device;
  const on = { engine: device.engine, device: device.index };
  const donated = device.kind !== "cpu";
  const params = new TensorState<Params>("params", first, {
    ...{ device, donated, lent: options.params !== undefined },
  });
  // It begins as the learning network, and shares its tensors until one of them moves.
  const target = new TensorState<Params>("target", params.getState(), { device, donated, lent: true });
  const init = compile((arrays: readonly Value[]) => optimizer.init(params.packing.unpack(arrays)), {
    ...{ ...on, name: "init" },
  });
  const state = new TensorState<OptimizerState>("optimizer", init(params.now), {
    ...{ device, donated, lent: false },
  });

  const objective = lossesObjective<TransitionTargets, ActionValues>({
    forward: (p, batch) => {
      const { observation, action } = batch as unknown as {
        readonly observation: Value;
        readonly action: Value;
      };
      return { value: valueAt(valuesOf(policy, p, observation), action) };
    },
    losses: options.losses ?? [tdLoss()],
  });
  const own = optimizer.rates.learningRate;
  const rate = options.learningRate ?? (typeof own === "number" ? own : undefined);
  const given = { ...(rate !== undefined && { learningRate: rate }), ...options.rates };
  const rates = rateRamps(kind, optimizer, given, objective.ramps);

  const fields = transitionFields(environment);
  const buffer = replayBuffer({ capacity: numbers.capacity, fields, ...on });
  const loops = !(policy.convolves && device.engine === "xla" && device.kind === "cpu");
  const capacity = loops ? numbers.updates : 1;
  let { deterministic = false } = options;
  const compileOptions = (): CompileOptions => ({ ...on, deterministic });
  const learnFor = objective.perSet((evaluate) => ({
    program: learnProgram(
      {
        ...{ policy, capacity, optimizer, evaluate, rates, monitor: options.monitor ?? {} },
        ...{ params: params.packing, state: state.packing, target: target.packing },
        ...{ gamma: numbers.gamma, double: numbers.double, every: numbers.every, tau: numbers.tau },
      },
      { ...compileOptions(), name: "the training program", ...(donated && { donate: [0, 1, 2] }) },
    ),
    numbers: new RampNumbers(rates.names, capacity, on),
  }));
  const rows = environment.rows;
  const greedy = compile(
    (arrays: readonly Value[], observations: Value, masks: Value | null) => {
      const mask = masks === null ? undefined : np.notEqual(np.reshape(masks, [rows, -1]), 0);
      const values = valuesOf(
        policy,
        params.packing.unpack(arrays),
        np.reshape(observations, [rows, -1]),
        mask,
      );
      return np.reshape(policy.distribution.mode(values), [rows]);
    },
    { ...on, name: "act" },
  );
  return {
    ...{ numbers, policy, device, on, where, streams, params, target, state, init, objective, rates, buffer },
    ...{ capacity, learnFor },
    greedy: (observations: Float32Array, masks: Uint8Array | undefined): Tensor =>
      greedy(params.now, observations, masks ?? null),
    useDeterministic: (wanted: boolean): void => {
      deterministic = options.deterministic ?? wanted;
    },
  };
}

export type DqnParts = ReturnType<typeof setUp>;
