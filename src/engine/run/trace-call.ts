import {
  EspalierError,
  flatten,
  isPlainObject,
  leafCount,
  leafPaths,
  type TreeShape,
  unflatten,
} from "../../core/index.ts";
import { installMethods } from "../np/methods.ts";
import { asValue, type ValueLike } from "../np/operands.ts";
import { userError } from "../trace/location.ts";
import { type Program, programOf } from "../trace/program.ts";
import { type TensorType, tensorType } from "../trace/type.ts";
import { placeholder, Value, withTrace } from "../trace/value.ts";
import { type Backend, type Device, deviceText } from "./backend.ts";
import { castHost, dtypeOf, type HostArray, isHostArray } from "./host.ts";
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

/** An error unless the positions in `static` are those of arguments. */
export function checkStatics(statics: readonly number[], count: number, name: string): void {
  const wrong = statics.find((i) => !isPosition(i, count));
  if (wrong !== undefined)
    throw userError(
      "ARGUMENT_INVALID",
      `${name}: static names argument ${wrong}, but there are ${count} arguments`,
      "count arguments from 0",
    );
}

const isPosition = (i: number, count: number): boolean => Number.isInteger(i) && i >= 0 && i < count;

/** The leaves of donated arguments: `donate` holds positions, and names of members of the first argument. */
export function donatedLeaves(
  shape: TreeShape,
  args: readonly unknown[],
  statics: readonly number[],
  donate: readonly (number | string)[],
  name: string,
): readonly number[] {
  const donated: number[] = [];
  const unknown = new Set(donate);
  let next = 0;
  const add = (part: TreeShape, wanted: boolean): void => {
    const count = leafCount(part);
    if (wanted) for (let k = 0; k < count; k++) donated.push(next + k);
    next += count;
  };
  const shapes = [...(shape as { readonly items: readonly TreeShape[] }).items];
  args.forEach((_, i) => {
    if (statics.includes(i)) return;
    const part = shapes.shift() as TreeShape;
    const whole = unknown.delete(i);
    if (i > 0 || part.kind !== "object") add(part, whole);
    else
      part.keys.forEach((key, k) => {
        add(part.items[k] as TreeShape, unknown.delete(key) || whole);
      });
  });
  for (const wrong of unknown)
    throw userError(
      "ARGUMENT_INVALID",
      typeof wrong === "number"
        ? `${name}: donate names argument ${wrong}, which is not a tensor argument`
        : `${name}: donate names "${wrong}", which is not a member of the first argument`,
      "count arguments from 0, or name members of the first argument",
    );
  return donated;
}

/** Name of the leaf at a path in errors: `step: argument 0.w[1]`. */
export function argumentName(
  name: string,
  path: string,
  args: readonly unknown[],
  statics: readonly number[],
): string {
  const at = Number(/^\[(\d+)\]/.exec(path)?.[1] ?? 0);
  const original = args.map((_, i) => i).filter((i) => !statics.includes(i))[at];
  return `${name}: argument ${original}${path.replace(/^\[\d+\]/, "")}`;
}

/** An argument, or a tensor used by closure, that is not where the function runs. */
export function misplaced(argument: string, tensor: Tensor, device: Device): EspalierError {
  return userError(
    "DEVICE_MISMATCH",
    `${argument} is on ${deviceText(tensor.device)}, but the function runs on ${deviceText(device)}`,
    "put all tensors it takes or uses on one device: put(data, { engine, device })",
  );
}

/** A donated tensor that the same call needs once more. */
export function donatedTwice(argument: string, tensor: Tensor): EspalierError {
  return userError(
    "ARGUMENT_INVALID",
    `${argument} (${tensor.type.text}) is donated, and the same tensor is passed a second time`,
    "pass another tensor there, or leave the argument out of `donate`",
  );
}

/** A leaf that is no tensor. */
export function badLeaf(path: string, leaf: unknown): never {
  if (leaf instanceof Value)
    throw userError(
      "VALUE_ESCAPED",
      `${path} is a traced value from another function`,
      "pass tensors to compiled functions",
    );
  throw userError(
    "ARGUMENT_INVALID",
    `${path} is ${describe(leaf)}, which is no tensor`,
    "pass tensors, numbers, booleans or typed arrays; make tensors from nested arrays with put(...); list plain values in `static`",
  );
}

/** A wrong value in words. */
export function describe(leaf: unknown): string {
  if (typeof leaf === "function") return `the function ${leaf.name || "(anonymous)"}`;
  if (typeof leaf === "object" && leaf !== null) return `a ${leaf.constructor?.name ?? "object"}`;
  return `${JSON.stringify(leaf) ?? String(leaf)} (${typeof leaf})`;
}

/** A function traced for arguments of certain shapes and types. */
export interface TracedCall {
  /** Structure of the arguments that are not static. */
  readonly shape: TreeShape;
  readonly types: readonly TensorType[];
  readonly outputShape: TreeShape;
  readonly program: Program;
  /** Tensors the function uses beside its arguments; the program's last inputs. */
  readonly captured: readonly Tensor[];
}

/** Calls `fn` with values in place of the tensors among `args` and notes what it computes. */
export function traceCall(request: {
  readonly fn: (...args: never[]) => unknown;
  readonly name: string;
  readonly args: readonly unknown[];
  readonly statics: readonly number[];
  readonly backend: Backend;
}): TracedCall {
  const { fn, name, args, statics, backend } = request;
  const leaves: unknown[] = [];
  const shape = flatten(
    args.filter((_, i) => !statics.includes(i)),
    leaves,
  );
  const paths = leafPaths(shape);
  const types = leaves.map((leaf, i) => {
    const argument = () => argumentName(name, paths[i] as string, args, statics);
    const type = leafType(leaf, backend) ?? badLeaf(argument(), leaf);
    const reason = backend.lacks(type.dtype);
    if (reason)
      throw userError(
        "DTYPE_UNSUPPORTED",
        `${argument()} is ${type.text}: ${reason}`,
        'convert it: put(data, { dtype: "f32" })',
      );
    return type;
  });
  installMethods();
  return withTrace(
    (dtype) => backend.lacks(dtype),
    (trace) => {
      const inputs = types.map((type) => placeholder(type, trace.root));
      const rebuilt = [...(unflatten(shape, inputs) as unknown[])];
      const given = args.map((arg, i) => (statics.includes(i) ? arg : rebuilt.shift()));
      const result = fn(...(given as never[]));
      if (result instanceof Promise)
        throw userError(
          "ASYNC_TRACE",
          `${name} returned a promise`,
          "trace a synchronous function; await outside compile",
        );
      const { outputShape, outputs } = outputsOf(name, result);
      const captured = [...trace.captured] as [Tensor, Value][];
      const program = programOf([...inputs, ...captured.map(([, value]) => value)], outputs);
      return { shape, types, outputShape, program, captured: captured.map(([tensor]) => tensor) };
    },
  );
}

function outputsOf(
  name: string,
  result: unknown,
): { readonly outputShape: TreeShape; readonly outputs: readonly Value[] } {
  const leaves: unknown[] = [];
  const outputShape = flatten(result, leaves);
  const outputs = leaves.map((leaf, i) => {
    try {
      return asValue(leaf);
    } catch (cause) {
      const path = leafPaths(outputShape)[i];
      throw new EspalierError("RESULT_INVALID", `${name}: its result at "${path}" is ${describe(leaf)}`, {
        fix: "return traced values, numbers, and arrays and plain objects of them",
        cause,
      });
    }
  });
  return { outputShape, outputs };
}
