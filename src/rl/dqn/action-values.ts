import { np, type Value } from "../../engine/index.ts";
import type { Params } from "../../nn/index.ts";
import { applyPolicy, type Policy } from "../policies/policy.ts";

/** What a policy takes every action to be worth: the logits of its choices, [rows, choices]. */
export function valuesOf(policy: Policy, params: Params, observation: Value, mask?: Value): Value {
  const { parameters } = applyPolicy(policy, params, observation);
  return mask && policy.distribution.masked ? policy.distribution.masked(parameters, mask) : parameters;
}

/** The value of one action in each row: [rows, choices] and f32 [rows, 1] give [rows]. */
export function valueAt(values: Value, action: Value): Value {
  const is = np.equal(action, np.arange(values.shape[1] as number, { dtype: "f32" }));
  return np.sum(np.where(is, values, np.zerosLike(values)), { axis: 1 });
}

/** Transitions as they are drawn: [rows, ...] each. */
export interface Transitions {
  readonly observation: Value;
  readonly action: Value;
  readonly reward: Value;
  readonly nextObservation: Value;
  readonly terminated: Value;
  /** Where the environment has masks: 1 for what was allowed next. */
  readonly nextMask?: Value;
}

export interface TargetSpec {
  readonly policy: Policy;
  readonly gamma: number;
  readonly double: boolean;
}

/** What the taken actions are worth by what came of them: the reward, and the best that can follow. */
export function targetsOf(
  { policy, gamma, double }: TargetSpec,
  params: Params,
  target: Params,
  { reward, nextObservation, terminated, nextMask }: Transitions,
): Value {
  const mask = nextMask && np.notEqual(nextMask, 0);
  const values = valuesOf(policy, target, nextObservation, mask);
  const best = double
    ? valueAt(values, policy.distribution.mode(valuesOf(policy, params, nextObservation, mask)))
    : np.max(values, { axis: 1 });
  return reward.add(best.mul(np.subtract(1, terminated)).mul(gamma));
}
