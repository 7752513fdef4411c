import { flatten, node, type Tree, unflatten } from "../../core/index.ts";
import { checkDTypeName } from "../ops/rules.ts";
import { checkShape } from "../ops/shape.ts";
import type { DType } from "../trace/dtype.ts";
import { userError } from "../trace/location.ts";
import { type Shape, shapeText, sizeOf, tensorType } from "../trace/type.ts";
import type { Device } from "./backend.ts";
import { devices, type EngineChoice, resolveDevice } from "./choose.ts";
import { castHost, dtypeOf, flattenNested, type HostArray, isHostArray, type Nested } from "./host.ts";
import { turnIfDue } from "./memory.ts";
import { Tensor } from "./tensor.ts";

/** Options of {@link put}. */
export interface PutOptions {
  /** The shape of the numbers in row-major order, a number for one axis. Default: that of the data. */
  readonly shape?: Shape | number;
  /** The element type; by default that of the array (f32 for doubles where the engine lacks f64), f32 for numbers and bool for booleans. */
  readonly dtype?: DType;
  readonly engine?: EngineChoice;
  readonly device?: number | Device;
  /** @internal On a mesh: the axis along which its devices share the tensor. Default: each has all of it. */
  readonly axis?: number | undefined;
}

/**
 * Puts numbers on a device.
 *
 * @example
 * ```ts
 * const x = put([[1, 2], [3, 4]]);                           // f32[2,2]
 * const labels = put(new Int32Array([0, 1]), { shape: [2, 1] }); // i32[2,1]
 * ```
 */
export function put(data: HostArray | Nested, options: PutOptions = {}): Tensor {
  const { backend, device } = resolveDevice(options.engine, options.device);
  const host = isHostArray(data)
    ? { flat: data, shape: [data.length], dtype: dtypeOf(data, backend.lacks) }
    : flattenNested("put", data, refuse);
  const shape = typeof options.shape === "number" ? [options.shape] : (options.shape ?? host.shape);
  checkShape("put", shape);
  const flat = host.flat;
  if (sizeOf(shape) !== flat.length)
    throw userError(
      "SHAPE_MISMATCH",
      `put: ${flat.length} numbers do not fill the shape ${shapeText(shape)}, which has ${sizeOf(shape)} elements`,
      "give a shape whose lengths multiply to the number of elements",
    );
  const dtype = options.dtype ?? host.dtype;
  checkDTypeName("put", dtype);
  const lacking = backend.lacks(dtype);
  if (lacking)
    throw userError("DTYPE_UNSUPPORTED", `put: ${lacking}`, 'convert: put(data, { dtype: "f32" })');
  const type = tensorType(dtype, shape);
  return new Tensor(backend.put(castHost(flat, dtype), type, device, options.axis), type, device, backend);
}

/** A tensor on another device: itself where it is there, else a copy. */
export function onDevice(tensor: Tensor, device: Device): Tensor {
  if (tensor.device === device) return tensor;
  return put(tensor.readSync(), { shape: tensor.shape, dtype: tensor.dtype, device });
}

function refuse(part: unknown): never {
  const what = ArrayBuffer.isView(part)
    ? `a ${part.constructor.name} is not among the arrays it takes`
    : `${typeof part === "bigint" ? `${part}n` : (JSON.stringify(part) ?? typeof part)} is not a number`;
  throw userError(
    "ARGUMENT_INVALID",
    `put: ${what}`,
    "pass numbers, booleans, nested arrays of them, or a Float32Array, Float64Array, Int32Array, Uint32Array or Uint8Array; Int32Array.from(numbers, Number) makes one",
  );
}

/**
 * Reads many tensors in one go: a tree of tensors becomes the same tree of arrays.
 *
 * @example
 * ```ts
 * const { loss, accuracy } = await read(metrics);
 * ```
 */
export async function read<T>(tree: T): Promise<Read<T>> {
  const leaves: unknown[] = [];
  const shape = flatten(tree, leaves);
  const waiting = leaves.map((leaf) => {
    if (!(leaf instanceof Tensor))
      throw userError(
        "ARGUMENT_INVALID",
        `read: ${String(leaf)} is no tensor`,
        "pass a tensor or a tree of tensors",
      );
    return leaf.backend.read(leaf.native(), leaf.type);
  });
  const arrays = await Promise.all(waiting);
  await turnIfDue();
  return unflatten(shape, arrays) as Read<T>;
}

/** A tree of tensors as a tree of arrays. */
export type Read<T> = T extends Tensor ? HostArray : T extends object ? { [K in keyof T]: Read<T[K]> } : T;

/** Bytes above which tensors are not copied for calls beside each other: their products use all cores by themselves. */
const muchToCopy = 64 * 1024 * 1024;

/**
 * A tree of tensors for calls that are to run beside each other: the tree itself, and up to `most - 1` copies on other
 * devices. A device runs one program after the other, and a program of small products uses one core; the devices of a
 * CPU share its cores, so that there is a copy for each further core. Elsewhere it is the tree alone. `dispose` frees
 * the copies.
 */
export async function sideBySide<T extends Tree<Tensor>>(
  tree: T,
  most: number,
): Promise<{ readonly each: readonly T[]; dispose(): void }> {
  const leaves: Tensor[] = [];
  const shape = flatten(tree, leaves);
  const device = leaves[0]?.device;
  const bytes = leaves.reduce((sum, { type }) => sum + type.bytes, 0);
  const alone = most < 2 || device?.kind !== "cpu" || device.mesh !== undefined || bytes > muchToCopy;
  const others = alone ? [] : devices(device.engine).filter((other) => other !== device);
  if (others.length === 0) return { each: [tree], dispose: () => {} };
  const count = Math.min(most, node.os.availableParallelism()) - 1;
  const numbers = await read(leaves);
  const copies = others
    .slice(0, count)
    .map((other) =>
      leaves.map(({ shape, dtype }, i) => put(numbers[i] as HostArray, { shape, dtype, device: other })),
    );
  return {
    each: [tree, ...copies.map((copy) => unflatten(shape, copy) as T)],
    dispose: () => {
      for (const tensor of copies.flat()) tensor.dispose();
    },
  };
}
