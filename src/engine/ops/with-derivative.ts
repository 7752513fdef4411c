import { defineOp, type Op } from "../trace/op.ts";
import { emit1, type Value } from "../trace/value.ts";
import { batchedValue } from "./rules.ts";

/**
 * Cotangents of the arguments from that of the result, as graph of the arguments and the result. It must treat every
 * element alike, so that it holds for a batch as well.
 */
export type DerivativeRule = (ct: Value, xs: readonly Value[], y: Value) => readonly Value[];

interface Params {
  readonly rule: DerivativeRule;
}

const withDerivativeOp: Op<Params> = defineOp<Params>({
  name: "withDerivative",
  cheap: true,
  type: (inputs) => [inputs[inputs.length - 1] as (typeof inputs)[0]],
  derivative: ({ inputs, outputs, params }, [ct]) =>
    ct ? params.rule(ct, inputs.slice(0, -1), outputs[0]) : [],
  batch: (inputs, params, size) => [
    emit1(
      withDerivativeOp,
      inputs.map((input) => batchedValue(input, size)),
      params,
    ),
  ],
  stablehlo: (_w, names) => [names[names.length - 1] as string],
  wasm: (_j, arrays) => {
    for (const unused of arrays.slice(0, -1)) unused.dispose();
    return [arrays[arrays.length - 1] as (typeof arrays)[0]];
  },
});

/**
 * `y`, computed from `xs`, with the derivative the formula has on paper instead of that of the steps which computed
 * it: those lose digits, or divide zero by zero, where the function itself is smooth. `rule` must be one function for
 * all calls, as nodes are told apart by it.
 */
export const withDerivative = (xs: readonly Value[], y: Value, rule: DerivativeRule): Value =>
  emit1(withDerivativeOp, [...xs, y], { rule });
