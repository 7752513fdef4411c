import { shown } from "../core/index.ts";
import type { Value, ValueLike } from "../engine/index.ts";
import { badOption } from "./options.ts";

/**
 * What an optimizer remembers: plain nested objects such as `{ count, m: { dense0: { w, b } }, v: { ... } }`, built like
 * the parameters. Of values while tracing, of tensors outside.
 */
export type OptimizerState<T = Value> = { readonly [name: string]: T | OptimizerState<T> };

/** Rates by name. They are inputs of the compiled step, so that changing one never compiles anew. */
export type Rates<T = Value> = { readonly [name: string]: T | Rates<T> };

/** What one update gives: what to add to the parameters, and the next state. */
export interface Update<P> {
  readonly updates: P;
  readonly state: OptimizerState;
}

/**
 * An optimizer, or a part of one: two pure functions over trees of values, for use inside `compile`.
 *
 * @example
 * ```ts
 * const optimizer = optim.adamw({ learningRate: 1e-3 });
 * const step = compile((params: Params, state: optim.OptimizerState, rates: optim.Rates, x: Value, y: Value) => {
 *   const [loss, grads] = valueAndGrad(lossOf)(params, x, y);
 *   const next = optimizer.update(grads, state, params, rates);
 *   return { loss, params: optim.applyUpdates(params, next.updates), state: next.state };
 * });
 * let state = compile(optimizer.init)(params);
 * ({ params, state } = step(params, state, { learningRate: 3e-4 }, x, y));
 * ```
 */
export interface Optimizer {
  /** What it is, for errors and for its place in a chain's state: `adam`. */
  readonly kind: string;
  /** The rates it knows, with the values they have unless `update` is given others. */
  readonly rates: Rates<number>;
  /** The state before the first update. */
  init(params: unknown): OptimizerState;
  /** `grads` is a tree like `params`; rates left out have their defaults. */
  update<P>(grads: NoInfer<P>, state: OptimizerState, params: P, rates?: Rates<ValueLike>): Update<P>;
}

/** Refuses what is no optimizer. */
export function checkOptimizer(kind: string, name: string, given: unknown): void {
  const { rates, init, update } = (given ?? {}) as Partial<Optimizer>;
  if (typeof rates === "object" && rates && typeof init === "function" && typeof update === "function")
    return;
  const call = typeof given === "function" && given.name !== "" ? `call it: ${given.name}()` : undefined;
  throw badOption(
    kind,
    `${name} is ${shown(given)}`,
    call ?? "give an optimizer or a transform, such as adam()",
  );
}
