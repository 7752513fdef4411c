import { expectTypeOf } from "vitest";
import {
  compile,
  type Fetch,
  type HostArray,
  np,
  put,
  random,
  read,
  type Tensor,
  treeMap,
  type Value,
  valueAndGrad,
} from "./index.ts";

// A training loop as users write it, through the front door: no casts anywhere.

interface Layer {
  readonly w: Value;
  readonly b: Value;
}

interface Params {
  readonly layers: readonly Layer[];
  readonly scale: Value;
}

const init = compile((): Params => {
  const [forFirst, forSecond] = random.split(random.key(0));
  const layer = (key: Value): Layer => ({ w: random.normal(key, [2, 2]), b: np.zeros([2]) });
  return { layers: [layer(forFirst), layer(forSecond)], scale: np.ones([]) };
});

const loss = (params: Params, x: Value): Value =>
  np.multiply(params.scale, np.sum(params.layers.reduce((h, { w, b }) => np.add(np.matmul(h, w), b), x)));

const step = compile((params: Params, x: Value) => {
  const [value, grads] = valueAndGrad(loss)(params, x);
  expectTypeOf(value).toEqualTypeOf<Value>();
  expectTypeOf(grads).toEqualTypeOf<Params>();
  return { loss: value, params: treeMap((p: Value, g: Value) => np.subtract(p, g), params, grads) };
});

// Results are trees of tensors, readonly as they were.
let params = init();
expectTypeOf(params).toEqualTypeOf<Fetch<Params>>();
expectTypeOf(params).toEqualTypeOf<{
  readonly layers: readonly { readonly w: Tensor; readonly b: Tensor }[];
  readonly scale: Tensor;
}>();

// They go back in as arguments, and come out as what the variable holds.
const x = put([[1, 2]]);
const result = step(params, x);
expectTypeOf(result.loss).toEqualTypeOf<Tensor>();
params = result.params;
params = step(params, x).params;

// So do numbers, booleans and typed arrays, at every leaf.
step({ layers: [{ w: Float32Array.of(1), b: 2 }], scale: true }, Int32Array.of(1));

// Reading keeps the tree.
expectTypeOf(result.loss.item()).resolves.toBeNumber();
expectTypeOf(read(result)).resolves.toEqualTypeOf<{
  readonly loss: HostArray;
  readonly params: {
    readonly layers: readonly { readonly w: HostArray; readonly b: HostArray }[];
    readonly scale: HostArray;
  };
}>();
expectTypeOf(read([x, { x }] as const)).resolves.toEqualTypeOf<
  readonly [HostArray, { readonly x: HostArray }]
>();

// @ts-expect-error: a field is missing
step({ layers: [] }, x);
// @ts-expect-error: a leaf is a string
step({ layers: [{ w: "1", b: 2 }], scale: 1 }, x);
// @ts-expect-error: an argument is missing
step(params);
// @ts-expect-error: strings are no numbers
put("1");
// @ts-expect-error: there is no such option
put([1], { type: "f32" });
// @ts-expect-error: there is no such element type
put([1], { dtype: "float32" });
