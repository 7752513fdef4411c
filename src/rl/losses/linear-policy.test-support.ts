import { type EngineName, nn as functions, np, put, type Value } from "../../engine/index.ts";
import type { Params } from "../../nn/index.ts";
import type { Experience, PolicyOutputs } from "../experience/experience.ts";
import type { Distribution, Policy } from "../policies/policy.ts";

/** Choices by logits, as far as losses need them. */
const categorical = (choices: number): Distribution => {
  const logits = (p: Value): Value => functions.logSoftmax(p);
  const taken = (p: Value, action: Value): Value =>
    np.sum(logits(p).mul(np.oneHot(np.take(action, 0, { axis: -1 }).astype("i32"), choices)), { axis: -1 });
  const mode = (p: Value): Value => np.expandDims(np.argmax(p, { axis: -1 }), -1).astype("f32");
  return {
    kind: "categorical",
    parameters: choices,
    actions: 1,
    sample: mode,
    mode,
    logProb: taken,
    entropy: (p) => np.sum(np.exp(logits(p)).mul(logits(p)), { axis: -1 }).neg(),
    kl: (p, q) => np.sum(np.exp(logits(p)).mul(logits(p).sub(logits(q))), { axis: -1 }),
    act: (action) => action,
  };
};

/** Logits x w + b and values x v + c, as scripts/fixtures/rl_losses.py has them. */
export function linearPolicy(size: number, choices: number, more: Partial<Policy> = {}): Policy {
  const step: Policy["step"] = (params, { observation }) => {
    const [w, b] = [params.w as Value, params.b as Value];
    return {
      parameters: np.matmul(observation, w).add(b),
      value: params.v
        ? np.matmul(observation, params.v as Value).add(params.c as Value)
        : np.sum(observation, { axis: -1 }),
      state: {},
    };
  };
  return {
    spec: {},
    observationSpace: { kind: "box", shape: [size], low: -1, high: 1 },
    actionSpace: { kind: "discrete", n: choices },
    distribution: categorical(choices),
    recurrent: false,
    convolves: false,
    init: () => {
      throw new Error("the tests bring the parameters");
    },
    initialState: () => ({}),
    step,
    unroll: () => {
      throw new Error("rows only");
    },
    ...more,
  };
}

/** The forward pass of a task, for rows of experience. */
export const forward =
  (policy: Policy) =>
  (params: Params, batch: Experience): PolicyOutputs => {
    const reset = np.zeros([batch.observation.shape[0] as number], { dtype: "bool" });
    const { parameters, value } = policy.step(params, { observation: batch.observation, state: {}, reset });
    return {
      parameters,
      value,
      logProb: policy.distribution.logProb(parameters, batch.action),
      entropy: policy.distribution.entropy(parameters),
    };
  };

/** Numbers of a fixture where the engine computes. */
export const placed = (
  numbers: number | readonly number[] | readonly (readonly number[])[],
  engine: EngineName,
) => put(numbers, { engine });
