import { expectTypeOf } from "vitest";
import * as np from "../np/index.ts";
import type { Value } from "../trace/value.ts";
import { customGradient, remat, stopGradient } from "./custom.ts";
import { grad, valueAndGrad, vjp } from "./grad.ts";

interface Params {
  readonly layers: readonly { readonly w: Value }[];
}
interface Batch {
  readonly x: Value;
  readonly y: Value;
}

declare const value: Value;
declare const params: Params;
declare const batch: Batch;
declare const loss: (params: Params, batch: Batch, rate: Value) => Value;

// A gradient is built like the argument it is by: the first, the one named, or a list as long as that of the names.
expectTypeOf(grad(loss)).toEqualTypeOf<(params: Params, batch: Batch, rate: Value) => Params>();
expectTypeOf(grad(loss, { argnums: 2 })(params, batch, value)).toEqualTypeOf<Value>();
expectTypeOf(grad(loss, { argnums: [2, 0] })(params, batch, value)).toEqualTypeOf<readonly [Value, Params]>();
expectTypeOf(valueAndGrad(loss, { argnums: [0, 1] })(params, batch, value)).toEqualTypeOf<
  [value: Value, grads: readonly [Params, Batch]]
>();

// Extras come back as they were given, each with its own type.
const withExtras = valueAndGrad((p: Params, b: Batch) => [
  np.sum(b.x),
  { accuracy: np.mean(b.y), hidden: [p.layers, b.x] },
]);
const [[lossNow, extras], grads] = withExtras(params, batch);
expectTypeOf(lossNow).toEqualTypeOf<Value>();
expectTypeOf(extras.accuracy).toEqualTypeOf<Value>();
expectTypeOf(extras.hidden).toEqualTypeOf<readonly [Params["layers"], Value]>();
expectTypeOf(grads).toEqualTypeOf<Params>();

// Derivatives of derivatives, and functions over any tree.
expectTypeOf(grad((x: Value) => np.sum(grad((v: Value) => np.sum(v))(x)))).toEqualTypeOf<
  (x: Value) => Value
>();
function descend<P>(fn: (params: P) => Value, at: P): P {
  const [, slope] = valueAndGrad(fn)(at);
  return at === slope ? slope : grad(fn)(at);
}
expectTypeOf(descend((p: Params) => loss(p, batch, value), params)).toEqualTypeOf<Params>();

// @ts-expect-error: the option is called argnums
grad(loss, { argnum: 1 });
// @ts-expect-error: positions are numbers
grad(loss, { argnums: "rate" });
// @ts-expect-error: derivatives are of one number, not of a tree
grad((p: Params) => p);
// @ts-expect-error: the loss comes first, then the extras
valueAndGrad((p: Params) => [{ accuracy: value }, p]);
// @ts-expect-error: a promise has no derivative
valueAndGrad(async (p: Params) => p.layers[0]?.w);
// @ts-expect-error: the batch is missing
grad(loss)(params);

// vjp: the way back takes a tree like the result and gives one for each argument.
const [result, back] = vjp((p: Params, x: Value) => [np.sin(x), p], params, value);
expectTypeOf(result).toEqualTypeOf<readonly [Value, Params]>();
expectTypeOf(back([value, params])).toEqualTypeOf<[Params, Value]>();
// @ts-expect-error: one cotangent is missing
back([value]);

// Wrapped functions stay what they were.
expectTypeOf(remat(loss)).toEqualTypeOf<typeof loss>();
expectTypeOf(stopGradient(params)).toEqualTypeOf<Params>();

// A rule sees the arguments, the result and its cotangents, and gives something like each argument.
const mixed = customGradient(
  (p: Params, x: Value) => [x, p.layers],
  ([p, x], [y, layers], [ctY, ctLayers]) => {
    expectTypeOf(p).toEqualTypeOf<Params>();
    expectTypeOf(x).toEqualTypeOf<Value>();
    expectTypeOf(y).toEqualTypeOf<Value>();
    expectTypeOf(layers).toEqualTypeOf<Params["layers"]>();
    expectTypeOf(ctLayers).toEqualTypeOf<Params["layers"]>();
    return [{ layers: ctLayers }, ctY];
  },
);
expectTypeOf(mixed).toEqualTypeOf<(p: Params, x: Value) => readonly [Value, Params["layers"]]>();
const sum = (x: Value, y: Value): Value => np.add(x, y);
// @ts-expect-error: a rule gives a list, with one cotangent for each argument
customGradient(sum, (_args, _sum, ct) => ct);
// @ts-expect-error: a cotangent is missing
customGradient(sum, (_args, _sum, ct) => [ct]);
