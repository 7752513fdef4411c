import { treeMap } from "../../core/index.ts";
import { evalShape, np, random, scan, spec, type Value } from "../../engine/index.ts";
import { firstNonFinite, type GradientStepResult, gradientsOf } from "../../learner/index.ts";
import type { Evaluate, Named } from "../../losses/index.ts";
import type { ApplyOptions, Params } from "../../nn/index.ts";
import type { OptimizerState } from "../../optim/index.ts";
import type { Ramp } from "../../schedule/index.ts";
import type { Experience, PolicyOutputs } from "../experience/experience.ts";
import { prioritizedSegments } from "../experience/prioritized-segments.ts";
import type { Policy } from "../policies/policy.ts";
import { experienceOf, type Layout, memoryIn, onesFor } from "./layout.ts";
import type { RolloutSizes } from "./options.ts";
import { estimate, type Rollout, toSegments, toTime } from "./rollout.ts";
import type { OnPolicySetup } from "./setup.ts";

/**
 * Updates from a rollout, inside a program:
 *
 *     for each update epoch:           learn
 *       rollout = correctAdvantages    with vtrace only
 *       shuffled = shuffle(rollout)    a permutation of segments, or drawn by priority
 *       for each minibatch:            update
 *         gradients of the losses, one step of the optimizer, stop early by targetKl
 */

/** The state that an update replaces. */
export type LearnState = {
  readonly params: Params;
  readonly state: OptimizerState;
  /** The index of the first update of the run that was not finite, i32; -1 while all were. */
  readonly first: Value;
  /** 1 once the policy has moved too far: the rollout's remaining updates change nothing. */
  readonly stoppedEarly: Value;
};

/** A range of a rollout's updates, i32 scalars. */
export interface UpdateRange {
  /** The first update, and the number of updates. */
  readonly from: Value;
  readonly count: Value;
  /** Updates of the run before the first, the index of the rollout, and the row of ramps of the first. */
  readonly updates: Value;
  readonly rollout: Value;
  readonly row: Value;
}

export interface LearnInputs {
  readonly evaluate: Evaluate<Experience>;
  readonly state: LearnState;
  readonly rollout: Rollout;
  readonly range: UpdateRange;
  readonly ramps: Value | null;
  /** Keys (u32[2]) of the run. */
  readonly keys: { readonly order: Value; readonly losses: Value };
  /** False where loops are slow for this policy: then one call does one update. */
  readonly loops: boolean;
}

export interface Learned {
  readonly state: LearnState;
  /** The rollout, with advantages of the last update epoch. */
  readonly rollout: Rollout;
  /**
   * [updateEpochs, minibatches, names]: row i holds the i-th update epoch of this call, from its first column on,
   * wherever in the epoch the call began.
   */
  readonly metrics: Value;
  readonly names: readonly string[];
}

/** Does a range of updates: some minibatches of some update epochs. */
export function learn(setup: OnPolicySetup, inputs: LearnInputs): Learned {
  const { sizes, learner } = setup;
  const { evaluate, state, rollout, range, ramps, keys } = inputs;
  const { minibatches } = sizes;
  const { from, count } = range;
  const firstEpoch = np.floorDivide(from, minibatches);
  const end = from.add(count);
  const epochs = np.where(
    count.greater(0),
    np.floorDivide(end.sub(1), minibatches).sub(firstEpoch).add(1),
    0,
  );
  let names: readonly string[] = [];

  /**
   * One update from minibatch `m`, which is update `index` of the rollout: gradients of the losses, a step of the
   * optimizer, and its metrics.
   */
  const update = (now: LearnState, shuffled: Rollout, m: Value, index: (m: Value) => Value) => {
    const batch = learner.shard(minibatchOf(setup, shuffled, m));
    const number = index(m).sub(from);
    const own = learner.rates.at(ramps, number.add(range.row));
    const inRun = number.add(range.updates);
    const key = random.foldIn(keys.losses, inRun);
    const [metrics, grads] = gradientsOf((params) => {
      const { loss, metrics } = evaluate(params, batch, own, { train: true, key });
      return [loss, metrics] as const;
    }, now.params);
    const step = learner.applyGradients(now, own, metrics, grads);
    const { next, applied, finite } = stopEarly(setup.targetKl, now, step);
    const first = firstNonFinite(now.first, finite, inRun);
    const values = { ...step.values, ...(applied && { applied: applied.astype("f32") }) };
    names = Object.keys(values);
    return [{ ...next, first }, np.stack(Object.values(values))] as const;
  };

  /** The rollout for the updates of an epoch from `begin` on: a call that begins within an epoch corrects nothing. */
  const corrected = (now: Rollout, params: Params, begin: Value): Rollout =>
    setup.vtrace
      ? { ...now, table: np.where(np.equal(begin, 0), correctAdvantages(setup, now, params), now.table) }
      : now;

  if (!inputs.loops) {
    const begin = from.sub(firstEpoch.mul(minibatches));
    const now = corrected(rollout, state.params, begin);
    const ramp = learner.rates.at(ramps, range.row);
    const shuffled = setup.shuffle(now, {
      key: keys.order,
      rollout: range.rollout,
      epoch: firstEpoch,
      ramps: ramp,
    });
    const [next, metrics] = update(state, shuffled, begin, () => from);
    return { state: next, rollout: now, metrics: np.reshape(metrics, [1, 1, -1]), names };
  }
  const carry = { state, table: setup.vtrace ? rollout.table : null };
  const [last, metrics] = scan(
    (now: typeof carry, _x: undefined, i: Value) => {
      const epoch = firstEpoch.add(i);
      const begin = np.maximum(from.sub(epoch.mul(minibatches)), 0);
      const until = np.minimum(end.sub(epoch.mul(minibatches)), minibatches);
      const present = { ...rollout, table: now.table ?? rollout.table };
      const found = corrected(present, now.state.params, begin);
      const ramp = learner.rates.at(ramps, range.row.add(epoch.mul(minibatches).add(begin).sub(from)));
      const shuffled = setup.shuffle(found, {
        key: keys.order,
        rollout: range.rollout,
        epoch,
        ramps: ramp,
      });
      const [after, each] = scan(
        (inner: LearnState, _y: undefined, j: Value) =>
          update(inner, shuffled, begin.add(j), (m) => epoch.mul(minibatches).add(m)),
        now.state,
        undefined,
        { length: until.sub(begin), maxLength: minibatches },
      );
      return [{ state: after, table: now.table && found.table }, each] as const;
    },
    carry,
    undefined,
    { length: epochs, maxLength: setup.updateEpochs },
  );
  return { state: last.state, rollout: { ...rollout, table: last.table ?? rollout.table }, metrics, names };
}

/** Rows of minibatch `m`, which stand in segments one after the other. */
function minibatchOf({ sizes, layout }: OnPolicySetup, { table, memory }: Rollout, m: Value): Experience {
  const { batch, segment } = sizes;
  const start = m.mul(batch);
  const part = (x: Value): Value =>
    np.dynamicSlice(x, [start, ...x.shape.slice(1).map(() => 0)], [batch, ...x.shape.slice(1)]);
  const flat = np.reshape(part(table), [batch * segment, table.shape[2] as number]);
  return experienceOf(layout.learned.fields(flat), treeMap(part, memory));
}

/** Takes a step, except after the policy has moved further than `targetKl`. */
function stopEarly(targetKl: number | undefined, now: LearnState, step: GradientStepResult) {
  const { params, state, values, applied, finite } = step;
  if (targetKl === undefined) return { next: { ...now, params, state }, applied, finite };
  // Without the policy's loss the divergence is unknown, and updates that were stopped stay so.
  const kl = values["policy.approxKl"];
  const stoppedEarly = kl
    ? np.maximum(now.stoppedEarly, np.greater(kl, targetKl).astype("f32"))
    : now.stoppedEarly;
  const taken = np.equal(stoppedEarly, 0);
  const keep = <T>(after: T, before: T): T =>
    treeMap((a: Value, b: Value) => np.where(taken, a, b), after, before);
  return {
    next: { ...now, params: keep(params, now.params), state: keep(state, now.state), stoppedEarly },
    applied: np.subtract(1, stoppedEarly).mul(applied ? applied.astype("f32") : 1),
    // As of any update that was skipped.
    finite: np.logicalOr(finite, np.logicalNot(taken)),
  };
}

/** The current policy's outputs for rows of a batch, which stand in segments one after the other. */
export function forward(policy: Policy, { segment }: Pick<RolloutSizes, "segment">) {
  const { distribution } = policy;
  return (params: Params, batch: Experience, options: ApplyOptions = {}): PolicyOutputs => {
    const input = {
      observation: batch.observation,
      state: {},
      reset: np.notEqual(batch.reset as Value, 0),
      ...(batch.mask && { mask: np.notEqual(batch.mask, 0) }),
    };
    const inTime = (x: Value): Value => np.reshape(x, [-1, segment, ...x.shape.slice(1)]);
    const flat = (x: Value): Value => np.reshape(x, [-1, ...x.shape.slice(2)]);
    const unrolled = () => {
      const { observation, reset, mask } = input;
      const sequence = {
        observation: inTime(observation),
        state: memoryIn(batch),
        reset: inTime(reset),
        ...(mask && { mask: inTime(mask) }),
      };
      const { parameters, value } = policy.unroll(params, sequence, options);
      return { parameters: flat(parameters), value: flat(value) };
    };
    const { parameters, value } = policy.recurrent ? unrolled() : policy.step(params, input, options);
    return {
      parameters,
      value,
      logProb: distribution.logProb(parameters, batch.action),
      entropy: distribution.entropy(parameters),
    };
  };
}

/** The rollout's table with advantages and returns under the current policy, in V-trace form. */
function correctAdvantages(setup: OnPolicySetup, { table, memory }: Rollout, params: Params): Value {
  const { policy, layout, sizes, gae, vtrace } = setup;
  const { learned } = layout;
  const { segments, segment } = sizes;
  const flat = np.reshape(table, [segments * segment, learned.width]);
  const { logProb } = forward(policy, sizes)(params, experienceOf(learned.fields(flat), memory));
  const ratio = np.exp(np.clip(logProb.sub(learned.field(flat, "logProb")), -10, 10));
  const time = (x: Value): Value => toTime(np.reshape(x, [segments, segment]), sizes);
  const field = (name: string): Value => time(learned.field(flat, name));
  const { advantage, returns } = estimate(gae, {
    rewards: field("reward"),
    values: field("value"),
    nextValues: field("nextValue"),
    terminated: field("terminated"),
    ends: field("ends"),
    valid: field("valid"),
    ratio: time(ratio),
    rhoBar: vtrace?.rhoBar,
    cBar: vtrace?.cBar,
  });
  return learned.pack({
    ...learned.fields(table),
    advantage: toSegments(advantage, sizes),
    return: toSegments(returns, sizes),
  });
}

/** Brings a rollout into the order of an update epoch. */
export type Shuffle = (
  rollout: Rollout,
  at: {
    /** Of the run. */
    readonly key: Value;
    /** The index of the rollout in the run, and of the epoch in the rollout. */
    readonly rollout: Value;
    readonly epoch: Value;
    readonly ramps: Readonly<Record<string, Value>>;
  },
) => Rollout;

export interface ShuffleOptions {
  readonly layout: Pick<Layout, "learned">;
  readonly sizes: RolloutSizes;
  /** Draws segments with large advantages more often; otherwise each comes once. */
  readonly priority: { readonly alpha: number; readonly beta: number | Ramp } | undefined;
}

/** The name of the ramp of `prioritized.beta`. */
export const betaRamp = "priority.beta";

/** A random permutation of segments, or segments drawn by the size of their advantages. */
export function shuffleBy({ sizes, priority, layout }: ShuffleOptions): Shuffle {
  return (rollout, { key, rollout: index, epoch, ramps }) => {
    const own = random.foldIn(random.foldIn(key, index), epoch);
    const { table } = rollout;
    const pick = (indices: Value): Rollout => ({
      table: np.take(table, indices, { axis: 0 }),
      memory: treeMap((x: Value) => np.take(x, indices, { axis: 0 }), rollout.memory),
    });
    if (!priority) return pick(random.permutation(own, sizes.segments).astype("i32"));
    const weights = np.sum(np.absolute(layout.learned.field(table, "advantage")), { axis: 1 });
    const { indices, importance } = prioritizedSegments(weights, own, {
      alpha: priority.alpha,
      beta: typeof priority.beta === "number" ? priority.beta : (ramps[betaRamp] as Value),
      count: sizes.batch * sizes.minibatches,
    });
    const picked = pick(indices);
    const column = layout.learned.at("importance");
    const rows = np.broadcastTo(np.reshape(importance, [-1, 1, 1]), [...picked.table.shape.slice(0, 2), 1]);
    const before = np.slice(picked.table, "...", [0, column]);
    const after = np.slice(picked.table, "...", [column + 1, layout.learned.width]);
    return { ...picked, table: np.concatenate([before, rows, after], { axis: 2 }) };
  };
}

/** The names of an update's metrics when all losses are active. */
export function metricNames({
  policy,
  objective,
  layout,
  sizes,
  learner,
}: Pick<OnPolicySetup, "policy" | "objective" | "layout" | "sizes" | "learner">): readonly string[] {
  const find = (params: Params, rows: Value, key: Value): Named => {
    const batch = experienceOf(layout.learned.fields(rows), policy.initialState(sizes.batch));
    const evaluate = objective.evaluate(objective.names);
    return evaluate(params, batch, onesFor(objective), { train: true, key }).metrics;
  };
  const rows = spec([sizes.batch * sizes.segment, layout.learned.width]);
  return Object.keys(evalShape(find, learner.params.specs, rows, spec([2], "u32")));
}
