import { expectTypeOf } from "vitest";
import { compile, type Fetch, put, type Tensor, type Value, valueAndGrad } from "../engine/index.ts";
import * as optim from "./index.ts";

// A training step as users write it: no casts anywhere.

interface Params {
  readonly layers: readonly { readonly w: Value; readonly b: Value }[];
  readonly scale: Value;
}

declare const lossOf: (params: Params, x: Value) => Value;
declare const start: Fetch<Params>;

const optimizer = optim.chain(
  optim.clipByGlobalNorm(1),
  optim.adamw({ learningRate: 1e-3, mask: ["!**.b"] }),
);
expectTypeOf(optimizer).toEqualTypeOf<optim.Optimizer>();

const step = compile(
  (params: Params, state: optim.OptimizerState, rates: optim.Rates, x: Value) => {
    const [loss, grads] = valueAndGrad(lossOf)(params, x);
    const next = optimizer.update(grads, state, params, rates);
    expectTypeOf(next).toEqualTypeOf<optim.Update<Params>>();
    expectTypeOf(next.updates).toEqualTypeOf<Params>();
    const norm = optim.valueIn(next.state, "norm");
    expectTypeOf(norm).toEqualTypeOf<Value>();
    return { loss, norm, params: optim.applyUpdates(params, next.updates), state: next.state };
  },
  { donate: [0, 1] },
);

// States go round; rates are numbers or tensors, by name or by group.
let params = start;
let state = compile(optimizer.init)(params);
const x = put([1]);
({ params, state } = step(params, state, { learningRate: 1e-3 }, x));
({ params, state } = step(params, state, optimizer.rates, x));
({ params, state } = step(params, state, { encoder: { learningRate: put(1) }, weightDecay: 0 }, x));
expectTypeOf(params).toEqualTypeOf<Fetch<Params>>();
expectTypeOf(optim.valueIn(state, "norm")).toEqualTypeOf<Tensor>();
// @ts-expect-error a rate is a number, not a word
step(params, state, { learningRate: "fast" }, x);

// Gradients are like parameters, options are checked by name and type.
// @ts-expect-error gradients of another tree
optimizer.update({ w: x }, {}, { v: x });
// @ts-expect-error no such option
optim.adam({ learningrate: 1 });
// @ts-expect-error a number
optim.sgd({ momentum: true });
// @ts-expect-error groups are optimizers
optim.groups({ "*": { learningRate: 1 } });
expectTypeOf(optim.skipNonFinite).toEqualTypeOf<(optimizer: optim.Optimizer) => optim.Optimizer>();
expectTypeOf(optim.freeze).toEqualTypeOf<
  (frozen: optim.Mask, optimizer: optim.Optimizer) => optim.Optimizer
>();
expectTypeOf(optim.groups).parameter(0).toEqualTypeOf<Readonly<Record<string, optim.Optimizer>>>();
