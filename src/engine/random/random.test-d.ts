import { expectTypeOf } from "vitest";
import type { Tensor } from "../run/tensor.ts";
import type { Value } from "../trace/value.ts";
import * as host from "./host.ts";
import * as random from "./index.ts";

declare const key: Value;
declare const tensor: Tensor;
declare const count: number;

// As many keys as the number written out says; a list where it is not known.
expectTypeOf(random.split(key)).toEqualTypeOf<[Value, Value]>();
expectTypeOf(random.split(key, 3)).toEqualTypeOf<[Value, Value, Value]>();
expectTypeOf(random.split(key, count)).toEqualTypeOf<Value[]>();
expectTypeOf(random.splitKeys(key, 3)).toEqualTypeOf<Value>();
expectTypeOf(host.hostSplit(host.hostKey(0), 3)).toEqualTypeOf<[Uint32Array, Uint32Array, Uint32Array]>();

// Keys are traced, tensors, or from the host.
random.normal(key, [2]);
random.normal(tensor, [2]);
random.normal(host.hostKey(0), [2]);
// @ts-expect-error: a seed is no key: random.key(0)
random.normal(0, [2]);
// @ts-expect-error: shapes are lists
random.normal(key, 2);
// @ts-expect-error: the option is called max
random.uniform(key, [2], { high: 1 });
// @ts-expect-error: there are no random f64
random.normal(key, [2], { dtype: "f64" });
// @ts-expect-error: integers are not drawn as f32
random.randint(key, [2], 0, 6, { dtype: "f32" });
