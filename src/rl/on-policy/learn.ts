import { treeMap } from "../../core/index.ts";
import { np, random, scan, type Value, valueAndGrad } from "../../engine/index.ts";
import { applyGradients, firstNonFinite, type MonitorOptions, type RateRamps } from "../../learner/index.ts";
import type { Evaluate, Named } from "../../losses/index.ts";
import type { Params } from "../../nn/index.ts";
import type { Optimizer, OptimizerState } from "../../optim/index.ts";
import type { Experience } from "../experience/experience.ts";
import type { Layout, Sizes } from "./layout.ts";
import type { Order } from "./order.ts";

/** Experience of a rollout on the device, segment by segment. */
export type Gathered = {
  /** [segments, segment, columns]. */
  readonly table: Value;
  /** What the policy remembered before each segment: values with first axis segments. */
  readonly memory: Named;
};

export type Learner = {
  readonly params: Params;
  readonly state: OptimizerState;
  /** 1 once the policy has moved too far: what is left of this rollout's updates changes nothing. */
  readonly halted: Value;
  /** The index of the first update of the run that was not finite, i32; -1 while all were. */
  readonly first: Value;
};

export interface LearnSpec {
  readonly sizes: Sizes;
  readonly layout: Layout;
  /** The most update epochs a rollout has. */
  readonly updateEpochs: number;
  readonly evaluate: Evaluate<Experience>;
  readonly optimizer: Optimizer;
  readonly rates: RateRamps;
  readonly monitor: MonitorOptions;
  /** Where an update would leave this divergence (`policy.approxKl`) behind, it and those after it are left out. */
  readonly targetKl: number | undefined;
  /** Finds advantages again, before each update epoch. */
  readonly correct: ((gathered: Gathered, params: Params) => Value) | undefined;
  /** Which segments an update epoch goes through. */
  readonly order: Order;
  /** Whether loops pay for this policy here; without them one update is one call. */
  readonly loops: boolean;
}

/** Which updates of a rollout are asked for, i32 scalars. */
export interface Asked {
  /** The first, and how many. */
  readonly from: Value;
  readonly count: Value;
  /** Updates of the run before it, the rollout's index, and the row of ramps that belongs to the first. */
  readonly updates: Value;
  readonly rollout: Value;
  readonly row: Value;
}

/** Keys (u32[2]) of a run for one purpose each. */
export interface LearnKeys {
  readonly order: Value;
  readonly losses: Value;
}

/** Names of reported values, known once an update has been traced. */
export interface ValueNames {
  names: readonly string[];
}

/**
 * Updates from a rollout's experience, inside a program. What comes back beside the learner is [updateEpochs,
 * minibatches, values]; the i-th epoch that was gone through is the i-th there, however far in it began.
 */
export function learn(
  spec: LearnSpec,
  learner: Learner,
  gathered: Gathered,
  asked: Asked,
  ramps: Value | null,
  keys: LearnKeys,
  reported: ValueNames,
): readonly [Learner, Gathered, Value] {
  const { minibatches, batch, segment } = spec.sizes;
  const { from, count } = asked;
  const first = np.floorDivide(from, minibatches);
  const end = from.add(count);
  const epochs = np.where(count.greater(0), np.floorDivide(end.sub(1), minibatches).sub(first).add(1), 0);

  const one = (now: Learner, rows: Experience, index: Value): readonly [Learner, Value] => {
    const number = index.sub(from);
    const ramp = spec.rates.at(ramps, number.add(asked.row));
    const update = number.add(asked.updates);
    const key = random.foldIn(keys.losses, update);
    const [[, metrics], grads] = valueAndGrad((params: Params) => {
      const { loss, metrics } = spec.evaluate(params, rows, ramp, { train: true, key });
      return [loss, metrics] as const;
    })(now.params);
    const values = treeMap((value: Value) => value.astype("f32"), metrics);
    const next = applyGradients({
      ...{ optimizer: spec.optimizer, monitor: spec.monitor, rates: spec.rates.rates(ramp) },
      ...{ params: now.params, state: now.state, grads, values },
    });
    const kept = halting(spec, now, next);
    const all = { ...kept.values, ...(kept.applied && { applied: kept.applied.astype("f32") }) };
    reported.names = Object.keys(all);
    const first = firstNonFinite(now.first, kept.finite, update);
    return [{ ...kept.learner, first }, np.stack(Object.values(all))];
  };

  const rowsOf = (table: Value, memory: Named, m: Value): Experience => {
    const start = m.mul(batch);
    const part = (x: Value): Value =>
      np.dynamicSlice(x, [start, ...x.shape.slice(1).map(() => 0)], [batch, ...x.shape.slice(1)]);
    const flat = np.reshape(part(table), [batch * segment, table.shape[2] as number]);
    return { ...spec.layout.learned.fields(flat), memory: treeMap(part, memory) } as unknown as Experience;
  };

  /** Experience for the updates from `begin` on: a cut in the middle of an epoch finds nothing again. */
  const correct = (now: Gathered, params: Params, begin: Value): Gathered =>
    spec.correct
      ? { ...now, table: np.where(np.equal(begin, 0), spec.correct(now, params), now.table) }
      : now;

  if (!spec.loops) {
    const begin = from.sub(first.mul(minibatches));
    const found = correct(gathered, learner.params, begin);
    const ramp = spec.rates.at(ramps, asked.row);
    const { table, memory } = spec.order(found, keys.order, asked.rollout, first, ramp);
    const [next, values] = one(learner, rowsOf(table, memory, begin), from);
    return [next, found, np.reshape(values, [1, 1, -1])];
  }
  const carried = { learner, table: spec.correct ? gathered.table : null };
  const [next, values] = scan(
    (now: typeof carried, _x: undefined, i: Value) => {
      const u = first.add(i);
      const begin = np.maximum(from.sub(u.mul(minibatches)), 0);
      const until = np.minimum(end.sub(u.mul(minibatches)), minibatches);
      const present = { ...gathered, table: now.table ?? gathered.table };
      const found = correct(present, now.learner.params, begin);
      const ramp = spec.rates.at(ramps, asked.row.add(u.mul(minibatches).add(begin).sub(from)));
      const { table, memory } = spec.order(found, keys.order, asked.rollout, u, ramp);
      const [after, each] = scan(
        (inner: Learner, _y: undefined, j: Value) => {
          const m = begin.add(j);
          return one(inner, rowsOf(table, memory, m), u.mul(minibatches).add(m));
        },
        now.learner,
        undefined,
        { length: until.sub(begin), maxLength: minibatches },
      );
      return [{ learner: after, table: now.table && found.table }, each] as const;
    },
    carried,
    undefined,
    { length: epochs, maxLength: spec.updateEpochs },
  );
  return [next.learner, { ...gathered, table: next.table ?? gathered.table }, values];
}

type Made = ReturnType<typeof applyGradients>;

/** Takes an update, unless the policy has moved too far. */
function halting(spec: LearnSpec, now: Learner, next: Made) {
  const { params, state, values, applied, finite } = next;
  if (spec.targetKl === undefined) return { learner: { ...now, params, state }, values, applied, finite };
  // Where the policy's loss does not take part, nothing tells how far it moves, and what was halted stays so.
  const kl = values["policy.approxKl"];
  const halted = kl ? np.maximum(now.halted, np.greater(kl, spec.targetKl).astype("f32")) : now.halted;
  const taken = np.equal(halted, 0);
  const keep = <T>(after: T, before: T): T =>
    treeMap((a: Value, b: Value) => np.where(taken, a, b), after, before) as T;
  return {
    learner: { ...now, params: keep(params, now.params), state: keep(state, now.state), halted },
    values,
    applied: np.subtract(1, halted).mul(applied ? applied.astype("f32") : 1),
    // As of any update that was left out.
    finite: np.logicalOr(finite, np.logicalNot(taken)),
  };
}
