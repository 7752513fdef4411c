import { treeMap } from "../core/index.ts";
import { isFloat, type Value } from "../engine/index.ts";
import type { Model, Params } from "./model.ts";

/**
 * The running moments that layers have reached in a step. They stand among the parameters, where checkpoints and
 * predictions find them, but no gradient moves them: a layer gives the next ones here while a program is traced, and
 * `merge` puts them into the parameters after the optimizer's step.
 *
 * @example
 * ```ts
 * const moments = new nn.Moments();
 * const y = model.apply(params, x, { train: true, moments });
 * const next = moments.merge(optim.applyUpdates(params, updates), params);
 * ```
 */
export class Moments {
  readonly #next = new Map<Value, Value>();

  /** For layers: a moment as it is now, after those that were set before. */
  get(moment: Value): Value {
    return this.#next.get(original(moment)) ?? original(moment);
  }

  set(moment: Value, next: Value): void {
    this.#next.set(original(moment), next);
  }

  /** True for a parameter that a layer has set. */
  has(parameter: Value): boolean {
    return this.#next.has(parameter);
  }

  /** Parameters with the next moments. `applied` are those that the model was applied to. */
  merge(params: Params, applied: Params = params): Params {
    return treeMap((value: Value, before: Value) => this.#next.get(before) ?? value, params, applied);
  }
}

/** Parameters before they were made narrow. */
const originals = new WeakMap<Value, Value>();

/** For layers that compute in f32 whatever the precision: a parameter with all its digits. */
export const original = (parameter: Value): Value => originals.get(parameter) ?? parameter;

const narrow = (x: Value): Value => (x.dtype === "f32" ? x.astype("bf16") : x);

/**
 * A model that computes in bf16: inputs and parameters are rounded to it when the model is applied, outputs are f32
 * again. Reductions, softmax and norms stay in f32, and so do the parameters themselves and their gradients.
 *
 * @example
 * ```ts
 * const half = nn.inBf16(nn.mlp({ hidden: [256], out: 10 }));
 * ```
 */
export function inBf16<X, Y>(model: Model<X, Y>): Model<X, Y> {
  return {
    ...model,
    apply: (params, x, options) => {
      const rounded = treeMap((value: Value) => {
        const small = narrow(value);
        if (small !== value) originals.set(small, value);
        return small;
      }, params);
      const y = model.apply(rounded, treeMap(narrow, x), options);
      return treeMap((value: Value) => (isFloat(value.dtype) ? value.astype("f32") : value), y);
    },
  };
}
