import { treeMap } from "../../core/index.ts";
import { np, random, type Value } from "../../engine/index.ts";
import {
  compileUpdate,
  firstNonFinite,
  gradientsOf,
  type Learner,
  repeat,
  type TensorState,
} from "../../learner/index.ts";
import type { Evaluate } from "../../losses/index.ts";
import type { Params } from "../../nn/index.ts";
import type { TransitionTargets } from "../losses/td.ts";
import { applyPolicy, type Policy } from "../policies/policy.ts";

/** The values of all actions: the logits of a policy's choices, [rows, choices]. */
export function actionValues(policy: Policy, params: Params, observation: Value, mask?: Value): Value {
  const { parameters } = applyPolicy(policy, params, observation);
  return mask && policy.distribution.masked ? policy.distribution.masked(parameters, mask) : parameters;
}

/** The value of one action in each row: [rows, choices] and f32 [rows, 1] give [rows]. */
export function valueAt(values: Value, action: Value): Value {
  const is = np.equal(action, np.arange(values.shape[1] as number, { dtype: "f32" }));
  return np.sum(np.where(is, values, np.zerosLike(values)), { axis: 1 });
}

/** A batch of the replay buffer: [rows, ...] each. */
export type Transitions<T = Value> = {
  readonly observation: T;
  readonly action: T;
  readonly reward: T;
  readonly nextObservation: T;
  readonly terminated: T;
  /** Of environments with action masks: 1 for choices allowed next. */
  readonly nextMask?: T;
};

export interface TargetOptions {
  readonly policy: Policy;
  readonly gamma: number;
  readonly double: boolean;
}

/** The targets of the taken actions' values: the reward plus the discounted best next value. */
export function targetValues(
  { policy, gamma, double }: TargetOptions,
  params: Params,
  target: Params,
  { reward, nextObservation, terminated, nextMask }: Transitions,
): Value {
  const mask = nextMask && np.notEqual(nextMask, 0);
  const values = actionValues(policy, target, nextObservation, mask);
  const best = double
    ? valueAt(values, policy.distribution.mode(actionValues(policy, params, nextObservation, mask)))
    : np.max(values, { axis: 1 });
  return reward.add(best.mul(np.subtract(1, terminated)).mul(gamma));
}

export interface LearnOptions extends TargetOptions {
  readonly learner: Learner;
  readonly target: TensorState<Params>;
  readonly evaluate: Evaluate<TransitionTargets>;
  /** The most updates of a call. */
  readonly capacity: number;
  /** The target network moves by `tau` towards the learning one `every` few updates. */
  readonly every: number;
  readonly tau: number;
}

interface DqnInputs {
  /** [capacity, rows, ...]: a batch for each update. */
  readonly batches: Transitions;
  /** The number of updates, and the updates of the run before. */
  readonly at: Value;
  readonly ramps: Value | null;
  readonly key: Value;
}

/** Compiles updates, each from its own batch. One program, however many updates a call does. */
export function learnProgram(options: LearnOptions) {
  const { learner, target, capacity } = options;
  return compileUpdate(
    { updates: { ...learner.states, target } },
    (first, { batches, at, ramps, key }: DqnInputs) => {
      const [count, before] = [np.take(at, 0), np.take(at, 1)];
      const xs = { batch: batches, ramps: learner.rates.stacks(ramps, capacity) };
      return repeat(capacity, count, first, xs, (now, { batch: drawn, ramps }, index) => {
        const number = index.add(before);
        const batch = learner.shard(drawn);
        const wanted = targetValues(options, now.params, now.target, batch);
        const rows: TransitionTargets = { ...batch, target: wanted, valid: np.onesLike(wanted) };
        const [metrics, grads] = gradientsOf((params) => {
          const own = random.foldIn(key, number);
          const { loss, metrics } = options.evaluate(params, rows, ramps, { train: true, key: own });
          return [loss, metrics] as const;
        }, now.params);
        const step = learner.applyGradients(now, ramps, metrics, grads);
        const next = {
          params: step.params,
          state: step.state,
          target: movedTarget(options, step.params, now.target, number.add(1)),
          first: firstNonFinite(now.first, step.finite, number),
        };
        return [next, { metrics: step.values, applied: step.applied ?? null }] as const;
      });
    },
    learner.compileOptions("the training program"),
  );
}

/** The target network after an update. */
function movedTarget(
  { every, tau }: Pick<LearnOptions, "every" | "tau">,
  params: Params,
  target: Params,
  updates: Value,
): Params {
  const nearer = (learned: Value, old: Value): Value =>
    tau === 1 ? learned : old.add(learned.sub(old).mul(tau));
  if (every === 1) return treeMap((p: Value, t: Value) => nearer(p, t), params, target);
  const due = np.equal(np.remainder(updates, every), 0);
  return treeMap((p: Value, t: Value) => np.where(due, nearer(p, t), t), params, target);
}
