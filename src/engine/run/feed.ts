import type { TreeShape } from "../../core/index.ts";
import { isPlainObject } from "../../core/index.ts";
import type { ValueLike } from "../np/value.ts";
import type { TensorType } from "../trace/type.ts";
import { tensorType } from "../trace/type.ts";
import type { Value } from "../trace/value.ts";
import type { Backend, Device } from "./backend.ts";
import type { HostArray } from "./host.ts";
import { castHost, dtypeOf, isHostArray } from "./host.ts";
import { Tensor } from "./tensor.ts";

/** Accepted in place of a value by a compiled function. A number is f32; a typed array has one axis. */
export type TensorLike = Tensor | number | boolean | HostArray;

/** The arguments of a compiled function from those of the function it was made from. */
export type Feed<T> = T extends Value | Tensor
  ? TensorLike
  : T extends readonly unknown[]
    ? { [K in keyof T]: Feed<T[K]> }
    : T extends HostArray | ((...args: never[]) => unknown)
      ? T
      : T extends object
        ? { [K in keyof T]: Feed<T[K]> }
        : T;

/** The result of a compiled function from that of the function it was made from. */
export type Fetch<T> = T extends ValueLike
  ? Tensor
  : T extends PromiseLike<unknown>
    ? "compile traces synchronous functions: await outside"
    : T extends object
      ? { [K in keyof T]: Fetch<T[K]> }
      : T;

const f32Scalar = tensorType("f32", []);
const boolScalar = tensorType("bool", []);

/** The tensor type an argument has, or undefined where it is no tensor. */
export function leafType(leaf: unknown, { lacks }: Pick<Backend, "lacks">): TensorType | undefined {
  if (leaf instanceof Tensor) return leaf.type;
  if (typeof leaf === "number") return f32Scalar;
  if (typeof leaf === "boolean") return boolScalar;
  if (isHostArray(leaf)) return tensorType(dtypeOf(leaf, lacks), [leaf.length]);
  return undefined;
}

const oneNumber = new Float32Array(1);
const oneBoolean = new Uint8Array(1);

/** Puts an argument that is not a tensor yet on the device. */
export function toTensor(leaf: unknown, backend: Backend, device: Device): Tensor {
  if (typeof leaf === "number") {
    oneNumber[0] = leaf;
    return new Tensor(backend.put(oneNumber, f32Scalar, device), f32Scalar, device, backend);
  }
  if (typeof leaf === "boolean") {
    oneBoolean[0] = leaf ? 1 : 0;
    return new Tensor(backend.put(oneBoolean, boolScalar, device), boolScalar, device, backend);
  }
  const array = leaf as HostArray;
  const type = tensorType(dtypeOf(array, backend.lacks), [array.length]);
  return new Tensor(backend.put(castHost(array, type.dtype), type, device), type, device, backend);
}

/** True if a tree has the given shape; appends its leaves in order as far as it does. */
export function matchTree(shape: TreeShape, tree: unknown, leaves: unknown[]): boolean {
  switch (shape.kind) {
    case "leaf":
      if (tree === null || tree === undefined || Array.isArray(tree) || isPlainObject(tree)) return false;
      leaves.push(tree);
      return true;
    case "empty":
      return tree === null || tree === undefined;
    case "array": {
      if (!Array.isArray(tree) || tree.length !== shape.items.length) return false;
      for (let i = 0; i < tree.length; i++)
        if (!matchTree(shape.items[i] as TreeShape, tree[i], leaves)) return false;
      return true;
    }
    case "object": {
      if (!isPlainObject(tree)) return false;
      let count = 0;
      for (const _ in tree) count++;
      if (count !== shape.keys.length) return false;
      for (let i = 0; i < count; i++) {
        const key = shape.keys[i] as string;
        if (!(key in tree) || !matchTree(shape.items[i] as TreeShape, tree[key], leaves)) return false;
      }
      return true;
    }
  }
}
