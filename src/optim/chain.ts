import { badOption } from "../core/index.ts";
import {
  checkOptimizer,
  checkRates,
  type Optimizer,
  type OptimizerState,
  type Rates,
  selectRates,
} from "./optimizer.ts";

/**
 * Optimizers and transforms one after the other: each takes the updates of the one before as its gradients. The state
 * holds theirs by kind, `{ clipByGlobalNorm: { norm }, adamw: { count, m, v } }`, the second of a kind as `scale2`.
 * Rates of the same name are one rate.
 *
 * @example
 * ```ts
 * const optimizer = optim.chain(optim.clipByGlobalNorm(1), optim.adamw({ learningRate: 3e-4 }));
 * ```
 */
export function chain(...parts: readonly Optimizer[]): Optimizer {
  parts.forEach((part, i) => {
    checkOptimizer("chain", `part ${i + 1}`, part);
  });
  const names = parts.map(({ kind }, i) => {
    const before = parts.slice(0, i).filter((part) => part.kind === kind).length;
    return before === 0 ? kind : `${kind}${before + 1}`;
  });
  const shared = parts.map(({ rates }) => rates).reduce((all, own) => mergeRates("chain", all, own), {});
  return {
    kind: "chain",
    rates: shared,
    init: (params) => collect(names.map((name, i) => [name, (parts[i] as Optimizer).init(params)])),
    update: (grads, state, params, rates = {}) => {
      checkRates("chain", rates, Object.keys(shared));
      let updates = grads;
      const states = parts.map((part, i): Named => {
        const name = names[i] as string;
        const result = part.update(updates, stateIn(state, name), params, selectRates(rates, part.rates));
        updates = result.updates;
        return [name, result.state];
      });
      return { updates, state: collect(states) };
    },
  };
}

/** The state of a part, by name. */
export type Named = readonly [string, OptimizerState];

/** States by name; parts that remember nothing are left out. */
export const collect = (states: readonly Named[]): OptimizerState =>
  Object.fromEntries(states.filter(([, state]) => Object.keys(state).length > 0));

export const stateIn = (state: OptimizerState, name: string): OptimizerState =>
  (state[name] ?? {}) as OptimizerState;

/** The rates of two parts together. One name with two defaults would leave open what it stands for. */
export function mergeRates(kind: string, a: Rates<number>, b: Rates<number>): Rates<number> {
  for (const [name, value] of Object.entries(b)) {
    const other = a[name];
    if (other === undefined || typeof value !== "number" || other === value) continue;
    throw badOption(
      kind,
      `two parts have the rate ${name} with different defaults, ${String(other)} and ${value}`,
      "give both the same default, or name one of them otherwise with scaleByRate",
    );
  }
  return { ...a, ...b };
}
