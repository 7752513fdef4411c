import { describeDifference, sameShape } from "../../core/index.ts";
import { emitCall } from "../ops/call.ts";
import { stopGradient as stop } from "../ops/elementwise.ts";
import { userError } from "../trace/location.ts";
import type { Value } from "../trace/value.ts";
import { type Flat, flat, grow } from "./tree.ts";

/**
 * The same tree, counted as constant by derivatives.
 *
 * @example
 * ```ts
 * const target = stopGradient(model.apply(params, next));
 * ```
 */
export function stopGradient<T>(tree: T): T {
  const { shape, values } = flat(tree);
  return grow(shape, values.map(stop)) as T;
}

/**
 * Computes a function again on the way back instead of keeping what it made: less memory, more time.
 *
 * @example
 * ```ts
 * const block = remat((params: Params, x: Value) => layer(params, x));
 * ```
 */
export function remat<A extends readonly unknown[], const R>(fn: (...args: A) => R): (...args: A) => R {
  return (...args) => call(fn, args, undefined);
}

/**
 * Gives a function a derivative of your own. `rule` takes the arguments, the result and the result's cotangents, and
 * gives a cotangent for every argument, each built like the argument.
 *
 * @example
 * ```ts
 * const clipped = customGradient((x: Value) => x, ([x], _y, ct) => [np.clip(ct, -1, 1)]);
 * ```
 */
export function customGradient<A extends readonly unknown[], const R>(
  fn: (...args: A) => R,
  rule: (args: NoInfer<A>, result: NoInfer<R>, cotangents: NoInfer<R>) => { [K in keyof A]: A[K] },
): (...args: A) => R {
  return (...args) => call(fn, args, rule);
}

function call<A extends readonly unknown[], R>(
  fn: (...args: A) => R,
  args: A,
  rule: ((args: A, result: R, cotangents: R) => A) | undefined,
): R {
  const given = flat(args);
  let result!: Flat; // set while the function is traced
  const outputs = emitCall(
    given.values,
    (params) => {
      result = flat(fn(...(grow(given.shape, params) as A)));
      return result.values;
    },
    rule &&
      ((inputs, results, cotangents) => {
        const shape = result.shape;
        const grads = flat(
          rule(grow(given.shape, inputs) as A, grow(shape, results) as R, grow(shape, cotangents) as R),
        );
        checkRule(given, grads);
        return grads.values;
      }),
  );
  return grow(result.shape, outputs) as R;
}

function checkRule(given: Flat, grads: Flat): void {
  if (!sameShape(given.shape, grads.shape))
    throw userError(
      "CUSTOM_GRADIENT",
      `customGradient: the rule's result is not built like the arguments: ${describeDifference(given.shape, grads.shape)}`,
      "return a list with one cotangent tree for each argument",
    );
  grads.values.forEach((grad, i) => {
    const input = given.values[i] as Value;
    if (grad.type !== input.type)
      throw userError(
        "CUSTOM_GRADIENT",
        `customGradient: argument leaf ${i} is ${input.type.text} and its cotangent is ${grad.type.text}`,
        "give cotangents of the arguments' shapes and types",
      );
  });
}
