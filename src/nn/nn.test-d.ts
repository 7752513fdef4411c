import { expectTypeOf } from "vitest";
import { compile, nn, np, put, spec, type Tensor, treeMap, type Value, valueAndGrad } from "../index.ts";

// A model in training as users write it: no casts anywhere.

const model = nn.sequential([
  nn.dense(64),
  nn.relu,
  nn.dropout(0.1),
  (x: Value) => np.multiply(x, 2),
  nn.gelu,
  nn.dense(2),
]);
expectTypeOf(model).toEqualTypeOf<nn.Model<Value, Value>>();
let params = model.init(0, spec([32, 4]));
expectTypeOf(params).toEqualTypeOf<nn.Params<Tensor>>();

const step = compile((p: nn.Params, x: Value, y: Value, key: Value) => {
  const loss = (q: nn.Params) => nn.crossEntropy(model.apply(q, x, { train: true, key }), y);
  const [value, grads] = valueAndGrad(loss)(p);
  expectTypeOf(grads).toEqualTypeOf<nn.Params>();
  const next: nn.Params = treeMap((a: Value, g: Value) => np.subtract(a, np.multiply(g, 0.1)), p, grads);
  return { loss: value, params: next };
});
const result = step(params, put([[1, 2, 3, 4]]), Int32Array.of(1), Uint32Array.of(0, 1));
expectTypeOf(result.loss).toEqualTypeOf<Tensor>();
params = result.params;
model.init(Uint32Array.of(0, 1), spec([1, 4]), { engine: "wasm", device: 0 });

// Results of several layers keep their names.
const heads = nn.parallel({ policy: nn.dense(4), value: nn.dense(1) }, { combine: (outputs) => outputs });
expectTypeOf(heads.apply).returns.toEqualTypeOf<{ readonly policy: Value; readonly value: Value }>();
expectTypeOf(nn.parallel({ a: nn.dense(4) })).toEqualTypeOf<nn.Model<Value, Value>>();

// @ts-expect-error: there is no such option
nn.dense(4, { biass: true });
// @ts-expect-error: a layer takes one value
nn.sequential([nn.maxPool]);
// @ts-expect-error: there is no such layer
nn.parallel({ a: nn.dense(4) }, { combine: ({ b }) => b });
// @ts-expect-error: there is no such reduction
nn.mse(1, 2, { reduction: "average" });
// @ts-expect-error: init is told a spec
model.init(0, [32, 4]);
