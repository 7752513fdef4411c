import { treeMap } from "../../core/index.ts";
import { type CompileOptions, compile, np, random, type Value, valueAndGrad } from "../../engine/index.ts";
import {
  applyGradients,
  firstNonFinite,
  type MonitorOptions,
  type Packing,
  type RateRamps,
  repeat,
} from "../../learner/index.ts";
import type { Evaluate } from "../../losses/index.ts";
import type { Params } from "../../nn/index.ts";
import type { Optimizer, OptimizerState } from "../../optim/index.ts";
import type { TransitionTargets } from "../losses/td.ts";
import { type TargetSpec, type Transitions, targetsOf } from "./action-values.ts";

export interface LearnSpec extends TargetSpec {
  /** The most updates one call can do. */
  readonly capacity: number;
  readonly optimizer: Optimizer;
  readonly evaluate: Evaluate<TransitionTargets>;
  readonly rates: RateRamps;
  readonly monitor: MonitorOptions;
  readonly params: Packing<Params>;
  readonly state: Packing<OptimizerState>;
  readonly target: Packing<Params>;
  /** Every so many updates the target goes this part of the way. */
  readonly every: number;
  readonly tau: number;
}

/**
 * Updates in one call, each from a batch of its own: `batches` are [capacity, rows, ...], `at` how many updates and how
 * many there were before. One program, however many are asked for.
 */
export function learnProgram(spec: LearnSpec, options: CompileOptions) {
  const { capacity, rates, optimizer, monitor } = spec;
  return compile(
    (
      params: readonly Value[],
      state: readonly Value[],
      target: readonly Value[],
      batches: Transitions,
      at: Value,
      ramps: Value | null,
      key: Value,
      earlier: Value,
    ) => {
      const [count, before] = [np.take(at, 0), np.take(at, 1)];
      const first = {
        params: spec.params.unpack(params),
        state: spec.state.unpack(state),
        target: spec.target.unpack(target),
        nonFinite: earlier,
      };
      const xs = { batch: batches, ramp: rates.stacks(ramps, capacity) };
      const [last, { values, applied }] = repeat(
        capacity,
        count,
        first,
        xs,
        (now, { batch, ramp }, index) => {
          const number = index.add(before);
          const wanted = targetsOf(spec, now.params, now.target, batch);
          const rows = {
            ...batch,
            target: wanted,
            valid: np.onesLike(wanted),
          } as unknown as TransitionTargets;
          const [[, metrics], grads] = valueAndGrad((p: Params) => {
            const own = random.foldIn(key, number);
            const { loss, metrics } = spec.evaluate(p, rows, ramp, { train: true, key: own });
            return [loss, metrics] as const;
          })(now.params);
          const next = applyGradients({
            ...{ optimizer, monitor, params: now.params, state: now.state, grads },
            rates: rates.rates(ramp),
            values: treeMap((value: Value) => value.astype("f32"), metrics),
          });
          const moved = followed(spec, next.params, now.target, number.add(1));
          const nonFinite = firstNonFinite(now.nonFinite, next.finite, number);
          return [
            { params: next.params, state: next.state, target: moved, nonFinite },
            { values: next.values, applied: next.applied ?? null },
          ] as const;
        },
      );
      return {
        params: spec.params.pack(last.params),
        state: spec.state.pack(last.state),
        target: spec.target.pack(last.target),
        ...{ values, applied, first: last.nonFinite },
      };
    },
    options,
  );
}

/** The target network after an update. */
function followed(
  { every, tau }: Pick<LearnSpec, "every" | "tau">,
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
