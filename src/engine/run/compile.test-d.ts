import { expectTypeOf } from "vitest";
import * as np from "../np/index.ts";
import type { ValueLike } from "../np/operands.ts";
import type { Value } from "../trace/value.ts";
import { compile } from "./compile.ts";
import type { HostArray } from "./host.ts";
import { read } from "./put.ts";
import type { Tensor } from "./tensor.ts";
import type { Feed, Fetch, TensorLike } from "./trace-call.ts";

declare const value: Value;
declare const tensor: Tensor;

// Arguments: values become what can be put on a device, and trees keep their shape.
expectTypeOf<Feed<Value>>().toEqualTypeOf<TensorLike>();
expectTypeOf<Feed<Tensor>>().toEqualTypeOf<TensorLike>();
expectTypeOf<Feed<[Value, Value]>>().toEqualTypeOf<[TensorLike, TensorLike]>();
expectTypeOf<Feed<readonly Value[]>>().toEqualTypeOf<readonly TensorLike[]>();
expectTypeOf<Feed<{ readonly a: Value; b?: Value }>>().toEqualTypeOf<{
  readonly a: TensorLike;
  b?: TensorLike;
}>();
expectTypeOf<Feed<Value | null>>().toEqualTypeOf<TensorLike | null>();
expectTypeOf<Feed<Readonly<Record<string, Value>>>>().toEqualTypeOf<Readonly<Record<string, TensorLike>>>();
expectTypeOf<Tensor>().toExtend<Feed<ValueLike>>();

// Results: whatever is traced becomes a tensor, and trees keep their shape.
expectTypeOf<Fetch<Value>>().toEqualTypeOf<Tensor>();
expectTypeOf<Fetch<ValueLike>>().toEqualTypeOf<Tensor>();
expectTypeOf<Fetch<[Value, number, boolean, Tensor, Float32Array]>>().toEqualTypeOf<
  [Tensor, Tensor, Tensor, Tensor, Tensor]
>();
expectTypeOf<Fetch<{ readonly a: readonly Value[]; readonly none: null }>>().toEqualTypeOf<{
  readonly a: readonly Tensor[];
  readonly none: null;
}>();
expectTypeOf<Fetch<{ readonly w?: Value }>>().toEqualTypeOf<{ readonly w?: Tensor }>();

// What comes out goes back in.
expectTypeOf<Fetch<{ readonly a: readonly Value[] }>>().toExtend<Feed<{ readonly a: readonly Value[] }>>();

// Lists that a function writes out keep their length, so that results can be taken apart.
const pair = compile((x: Value, y: { readonly z: Value }) => [np.add(x, y.z), { same: x, both: [x, x] }]);
expectTypeOf(pair).parameters.toEqualTypeOf<[x: TensorLike, y: { readonly z: TensorLike }]>();
const [sum, rest] = pair(1, { z: tensor });
expectTypeOf(sum).toEqualTypeOf<Tensor>();
expectTypeOf(rest).toEqualTypeOf<{ readonly same: Tensor; readonly both: readonly [Tensor, Tensor] }>();
expectTypeOf(read(rest)).resolves.toEqualTypeOf<{
  readonly same: HostArray;
  readonly both: readonly [HostArray, HostArray];
}>();
expectTypeOf(pair.lower).parameters.toEqualTypeOf<[x: TensorLike, y: { readonly z: TensorLike }]>();
expectTypeOf(pair.programs).toBeNumber();

// Static arguments keep their type, functions and classes included.
class Settings {
  readonly #secret = 1;
  readonly depth: number = this.#secret;
}
const chosen = compile(
  (x: Value, mode: "double" | "square", activation: (x: Value) => Value, settings: Settings) =>
    mode === "double" ? np.multiply(activation(x), settings.depth) : np.square(x),
  { static: [1, 2, 3] },
);
chosen(tensor, "double", np.tanh, new Settings());
// @ts-expect-error: no such mode
chosen(tensor, "triple", np.tanh, new Settings());
// @ts-expect-error: the function takes text
chosen(tensor, "double", (x: string) => x, new Settings());

const double = compile((x: Value) => np.multiply(x, 2));
double(1);
double(true);
double(Float64Array.of(1));
// @ts-expect-error: text is no tensor
double("1");
// @ts-expect-error: nested arrays go through put first
double([1, 2]);
// @ts-expect-error: traced values belong to the function being traced
double(value);
// @ts-expect-error: too many arguments
double(1, 2);
// @ts-expect-error: the option is called static
compile((x: Value) => x, { statics: [0] });
// @ts-expect-error: there is no such engine
compile((x: Value) => x, { engine: "cuda" });
// @ts-expect-error: a promise comes too late to be traced, so that there is no tensor to read
compile(async (x: Value) => x)(1).item();
// @ts-expect-error: a tensor has no numbers until it is read
double(1) + 1;
// @ts-expect-error: nor has a traced value, while it is traced
compile((x: Value) => x * 2);
