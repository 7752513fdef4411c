import { flatten, leafPaths, type Options, option, treeLeaves, treeMap } from "../core/index.ts";
import { isFloat, np, type Value, type ValueLike, valueAndGrad } from "../engine/index.ts";
import type { Params } from "../nn/index.ts";
import {
  applyUpdates,
  findValue,
  globalNorm,
  type Optimizer,
  type OptimizerState,
  type Rates,
} from "../optim/index.ts";

type Values = Readonly<Record<string, Value>>;

/** Inside a program: an objective's values for these parameters, as f32, its gradients, and what else it gives. */
export function gradientsOf<E = undefined>(
  objective: (params: Params) => readonly [loss: Value, values: Values, extra?: E],
  params: Params,
): readonly [values: Values, grads: Params, extra: E] {
  const [[, values, extra], grads] = valueAndGrad(objective)(params);
  return [treeMap((value: Value) => value.astype("f32"), values), grads, extra as E];
}

export interface GradientStep {
  readonly optimizer: Optimizer;
  readonly monitor: MonitorOptions;
  readonly params: Params;
  readonly state: OptimizerState;
  readonly rates: Rates;
  readonly grads: Params;
  /** Reported values of the update. `loss` is the one that must be finite. */
  readonly values: Values;
  /** Where the devices of a mesh share the optimizer's state: gives a value of it its part, and parameters whole. */
  readonly placed?: { state(value: Value): Value; params(value: Value): Value } | undefined;
}

export interface GradientStepResult {
  readonly params: Params;
  readonly state: OptimizerState;
  readonly values: Values;
  /** 0 or 1, of optimizers that may skip an update. */
  readonly applied?: Value;
  /** Bool: the loss and the parameters are finite. True for a skipped update. */
  readonly finite: Value;
}

/** Inside a program: one step of the optimizer, the statistics that `monitor` asks for, and the check of finite numbers. */
export function applyGradients(step: GradientStep): GradientStepResult {
  const { optimizer, monitor, params: before, rates, grads, values, placed } = step;
  const next = optimizer.update(grads, step.state, before, rates);
  const { updates } = next;
  const state = placed ? treeMap(placed.state, next.state) : next.state;
  const whole = (now: Value, old: Value): Value => (now === old || !placed ? now : placed.params(now));
  const after = treeMap(whole, applyUpdates(before, updates), before);
  const applied = appliedIn(step.state, state);
  const norm = monitor.gradients === undefined ? clippingNorm(state, applied) : undefined;
  const asked = statistics(monitor, { optimizer, rates, grads, before, after, updates });
  return {
    params: after,
    state,
    values: { ...values, ...(norm && { gradientNorm: norm }), ...asked },
    ...(applied && { applied }),
    finite: isFiniteUpdate(values.loss, before, after, applied),
  };
}

/** 0 or 1: the update took effect. Undefined where the optimizer skips none. */
function appliedIn(before: OptimizerState, after: OptimizerState): Value | undefined {
  const [old, now] = [findValue(before, "skipped"), findValue(after, "skipped")];
  return old && now && np.subtract(1, np.subtract(now, old));
}

/** The norm that the optimizer clips by; NaN for a skipped update, whose state still holds the norm of the one before. */
function clippingNorm(state: OptimizerState, applied: Value | undefined): Value | undefined {
  const norm = findValue(state, "norm");
  return norm && applied ? np.where(applied.equal(1), norm, Number.NaN) : norm;
}

/**
 * Statistics that are reported of every update beside its losses and metrics. One that is off is not in the program
 * at all; one that is on changes no bit of the training.
 *
 * @example
 * ```ts
 * supervisedTask({ ...options, monitor: { gradients: "layers", parameters: true, updates: true } });
 * ```
 */
export interface MonitorOptions extends Options<typeof monitorTable> {}

const monitorTable = {
  /**
   * True for `gradientNorm`, the norm of all gradients before clipping, and, where the optimizer clips, `clippedNorm`,
   * the one after it. `"layers"` for `gradientNorm/<path>` too: parameters in one branch are a layer. Frozen parameters
   * do not count. Default: `gradientNorm` alone, where the optimizer clips by it and so has it anyway.
   */
  gradients: option.either(option.flag({}), option.oneOf(["layers"], {}), {}),
  /** `parameterNorm`: the norm of all parameters after the update. Default: false. */
  parameters: option.flag({}),
  /** `updateNorm`: the norm of what the update added to them. Default: false. */
  updates: option.flag({}),
};

/** The row of `monitor` in tables of options. */
export const monitorRow = option.group<MonitorOptions>(monitorTable, {});

interface UpdateParts {
  readonly optimizer: Optimizer;
  readonly rates: Rates;
  readonly grads: Params;
  readonly before: Params;
  readonly after: Params;
  readonly updates: Params;
}

function statistics(monitor: MonitorOptions, parts: UpdateParts): Values {
  const { gradients, parameters, updates } = monitor;
  return {
    ...(gradients && gradientNorms(parts, gradients === "layers")),
    ...(parameters && { parameterNorm: globalNorm(parts.after) }),
    ...(updates && { updateNorm: globalNorm(parts.updates) }),
  };
}

function gradientNorms(parts: UpdateParts, layers: boolean): Values {
  const trained = trainedGradients(parts);
  const norm = globalNorm([...trained.values()]);
  const clipped = clippedNorm(parts, trained, norm);
  const byLayer = new Map<string, Value[]>();
  if (layers)
    for (const [path, grad] of trained) {
      const layer = path.replace(/(\.[^.[\]]*|\[[^\]]*\])$/, "") || path;
      byLayer.set(layer, [...(byLayer.get(layer) ?? []), grad]);
    }
  const named = [...byLayer].map(([layer, grads]) => [`gradientNorm/${layer}`, globalNorm(grads)]);
  return { gradientNorm: norm, ...(clipped && { clippedNorm: clipped }), ...Object.fromEntries(named) };
}

/** Gradients by path, without those of parameters that the update leaves as they are: nothing else computes them. */
function trainedGradients({ grads, before, after }: UpdateParts): ReadonlyMap<string, Value> {
  const values: Value[] = [];
  const paths = leafPaths(flatten(grads, values));
  const [old, next] = [treeLeaves<Value>(before), treeLeaves<Value>(after)];
  const all = paths.map((path, i) => [path, values[i] as Value] as const);
  return new Map(all.filter((_, i) => old[i] !== next[i]));
}

/** The norm of the gradients after the optimizer has clipped them; undefined where it does not clip. */
function clippedNorm(
  { optimizer, rates }: UpdateParts,
  grads: ReadonlyMap<string, Value>,
  norm: Value,
): Value | undefined {
  const rate = (name: string): ValueLike | undefined => {
    const own = optimizer.rates[name];
    return typeof own === "number" ? ((rates[name] as Value | undefined) ?? own) : undefined;
  };
  const [maxNorm, maxAbs] = [rate("maxNorm"), rate("maxAbs")];
  if (maxNorm !== undefined && maxAbs === undefined)
    // As in clipByGlobalNorm: a norm that is not finite stays so.
    return norm.mul(np.where(norm.less(maxNorm), 1, np.divide(maxNorm, norm)));
  if (maxAbs === undefined || maxNorm !== undefined) return undefined;
  const least = np.negative(maxAbs);
  return globalNorm(treeMap((grad: Value) => grad.astype("f32").clip(least, maxAbs), [...grads.values()]));
}

/** Bool: the loss and all parameters that the update has changed are finite, or the update was skipped. */
function isFiniteUpdate(
  loss: Value | undefined,
  before: Params,
  after: Params,
  applied: Value | undefined,
): Value {
  const old = treeLeaves<Value>(before);
  const moved = treeLeaves<Value>(after).filter((leaf, i) => leaf !== old[i] && isFloat(leaf.dtype));
  // Over one long axis, as sums of squares in optim/: XLA's CPU back end is slower over several. Small ones together:
  // on a GPU a kernel for each costs more than their numbers (5 % of PPO on an H200, 1 % together).
  const [small, large] = [moved.filter(isSmall), moved.filter((leaf) => !isSmall(leaf))];
  const joined = small.length > 0 ? [np.concatenate(small.map((leaf) => leaf.ravel()))] : [];
  // A sum of x - x is NaN where one is not finite, and was measured to be faster than a reduction of booleans.
  const parts = [...joined, ...large].map((leaf) => np.isFinite(np.sum(leaf.ravel().sub(leaf.ravel()))));
  if (loss) parts.push(np.isFinite(loss));
  const finite = parts.reduce((all, part) => np.logicalAnd(all, part), np.full([], 1, { dtype: "bool" }));
  return applied ? np.logicalOr(finite, np.equal(applied, 0)) : finite;
}

/** Copying it costs next to nothing. */
const isSmall = ({ size }: Value): boolean => size <= 8192;

/** Inside a program: the index of the first update that was not finite, i32, after one more; -1 while all were. */
export const firstNonFinite = (first: Value, finite: Value, index: Value): Value =>
  np.where(np.logicalOr(finite, np.greaterEqual(first, 0)), first, index);
