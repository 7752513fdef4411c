import { expectTypeOf } from "vitest";
import * as nn from "../nn/index.ts";
import type { Tensor } from "../run/tensor.ts";
import type { Value } from "../trace/value.ts";
import * as np from "./index.ts";

declare const x: Value;
declare const tensor: Tensor;
declare const parts: number;

// Functions take values, tensors from outside, numbers, booleans and typed arrays.
expectTypeOf(np.add(x, tensor)).toEqualTypeOf<Value>();
np.add(1, true);
np.add(Float32Array.of(1), x);
// @ts-expect-error: text is no value
np.add(x, "1");
// @ts-expect-error: nested arrays go through np.array
np.add(x, [1, 2]);
np.add(x, np.array([1, [2, x][0] ?? 3]));

// As many parts as are asked for, where that is written out.
expectTypeOf(np.split(x, 3)).toEqualTypeOf<[Value, Value, Value]>();
expectTypeOf(np.split(x, [1, 2])).toEqualTypeOf<[Value, Value, Value]>();
expectTypeOf(np.split(x, parts)).toEqualTypeOf<Value[]>();
expectTypeOf(np.meshgrid([x, 1])).toEqualTypeOf<[Value, Value]>();
expectTypeOf(np.broadcastArrays(x, 1, tensor)).toEqualTypeOf<[Value, Value, Value]>();
expectTypeOf(np.topK(x, 5)).toEqualTypeOf<[values: Value, indices: Value]>();

// Methods are the functions.
expectTypeOf(x.add(1).sum({ axis: 0 }).T).toEqualTypeOf<Value>();
expectTypeOf(x.at([0, "1:"]).set(1)).toEqualTypeOf<Value>();

// Options that do not exist, are misspelt or have the wrong type do not compile.
// @ts-expect-error: keepdims
np.sum(x, { keepDims: true });
// @ts-expect-error: axis
x.mean({ axes: 0 });
// @ts-expect-error: an axis is an option, not an argument
np.sum(x, 0);
// @ts-expect-error: an index along one axis has one axis
np.argmax(x, { axis: [0, 1] });
// @ts-expect-error: a mode
np.pad(x, 1, { mode: "mirror" });
// @ts-expect-error: an element type
np.zeros([2], { dtype: "float32" });
// @ts-expect-error: an element type
x.astype("int");
// @ts-expect-error: approximate
nn.gelu(x, { exact: true });
// @ts-expect-error: strides
nn.conv(x, x, { stride: 2 });
// @ts-expect-error: padding is "same" or "valid", in small letters
nn.conv(x, x, { padding: "SAME" });
// @ts-expect-error: a window is needed
nn.maxPool(x, {});
