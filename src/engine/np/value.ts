import { literalArray, splat } from "../ops/constant.ts";
import type { HostArray } from "../run/host.ts";
import { dtypeOf, isHostArray } from "../run/host.ts";
import { Tensor } from "../run/tensor.ts";
import type { DType } from "../trace/dtype.ts";
import { userError } from "../trace/location.ts";
import { currentTrace, placeholder, Value } from "../trace/value.ts";

/** Operands of `np`: traced values, tensors from outside (used as they are now), numbers, booleans. */
export type ValueLike = Value | Tensor | number | boolean | HostArray;

/**
 * An argument as a traced value. A plain number takes `like`'s element type where one is given and can hold it.
 * `what` names the argument in errors: `add: argument 1`.
 */
export function asValue(x: unknown, like?: DType, what?: string): Value {
  if (x instanceof Value) return x;
  if (typeof x === "number") return splat(x, like ?? "f32");
  if (typeof x === "boolean") return splat(x ? 1 : 0, "bool");
  const trace = currentTrace(what?.replace(/:.*/, "") ?? "np");
  if (x instanceof Tensor) {
    const known = trace.captured.get(x);
    if (known) return known;
    const value = placeholder(x.type, trace.root);
    trace.captured.set(x, value);
    return value;
  }
  if (isHostArray(x)) return literalArray([...x], dtypeOf(x, trace.lacks), [x.length]);
  throw userError(
    "ARGUMENT_INVALID",
    `${what ? `${what} is ${describe(x)}, which` : describe(x)} is not a value to compute with`,
    "pass traced values, tensors, numbers or booleans; turn nested arrays into values with np.array(...)",
  );
}

function describe(x: unknown): string {
  if (Array.isArray(x)) return "an array";
  if (typeof x === "object" && x !== null) return `a ${x.constructor?.name ?? "plain object"}`;
  return `${String(x)} (${typeof x})`;
}
