import { EspalierError } from "../core/index.ts";
import { np, type Value } from "../engine/index.ts";
import type { Params } from "../nn/index.ts";
import { applyUpdates, type Optimizer, type OptimizerState, type Rates, valueIn } from "../optim/index.ts";
import { type MonitorOptions, statistics } from "./monitor.ts";
import { isFiniteUpdate } from "./non-finite.ts";

type Values = Readonly<Record<string, Value>>;

export interface GradientStep {
  readonly optimizer: Optimizer;
  /** What is reported of the update beside `values`. */
  readonly monitor: MonitorOptions;
  readonly params: Params;
  readonly state: OptimizerState;
  readonly rates: Rates;
  readonly grads: Params;
  /** `loss` among them is the one that is judged. */
  readonly values: Values;
}

/** What an update made: `applied` is 0 or 1 where the optimizer may leave one out. */
export interface GradientStepResult {
  readonly params: Params;
  readonly state: OptimizerState;
  readonly values: Values;
  readonly applied?: Value;
  /** Whether its loss and the parameters are finite numbers, bool; true of an update that was left out. */
  readonly finite: Value;
}

/** One step of the optimizer, and what is worth knowing of it. */
export function applyGradients(step: GradientStep): GradientStepResult {
  const { optimizer, monitor, params: before, rates, grads, values } = step;
  const { updates, state } = optimizer.update(grads, step.state, before, rates);
  const after = applyUpdates(before, updates);
  const applied = appliedIn(step.state, state);
  const known = monitor.gradients === undefined ? knownNorm(state, applied) : {};
  const asked = statistics(monitor, { optimizer, rates, grads, before, after, updates });
  const finite = isFiniteUpdate({ loss: values.loss, before, after, applied: applied.applied });
  return { params: after, state, values: { ...values, ...known, ...asked } as Values, ...applied, finite };
}

/** Whether the update took effect, where the optimizer may leave one out. */
function appliedIn(before: OptimizerState, after: OptimizerState): { readonly applied?: Value } {
  const [old, now] = [stateValue(before, "skipped"), stateValue(after, "skipped")];
  return old && now ? { applied: np.subtract(1, np.subtract(now, old)) } : {};
}

/** The norm that the optimizer clips by. Of an update that was left out it has only that of the one before. */
function knownNorm(state: OptimizerState, { applied }: { readonly applied?: Value }): Values {
  const norm = stateValue(state, "norm");
  if (!norm) return {};
  return { gradientNorm: applied ? np.where(applied.equal(1), norm, Number.NaN) : norm };
}

/** A value of an optimizer's state, where it has one of this name. */
function stateValue(state: OptimizerState, name: string): Value | undefined {
  try {
    return valueIn(state, name);
  } catch (error) {
    if (error instanceof EspalierError && (error.code === "PATH_UNKNOWN" || error.code === "STATE_MISMATCH"))
      return undefined;
    throw error;
  }
}
