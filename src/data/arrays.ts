import { EspalierError, flatten, isPlainObject, leafPaths, unflatten } from "../core/index.ts";
import {
  type Device,
  type DType,
  type EngineChoice,
  type HostArray,
  type Nested,
  put,
  type Shape,
  Tensor,
} from "../engine/index.ts";

/** Numbers in row-major order and what they are: for typed arrays of more than one axis, and for element types. */
export interface ShapedArray {
  readonly data: HostArray | Nested;
  readonly shape?: Shape;
  readonly dtype?: DType;
}

/** One array of examples, the first axis counting them. A plain typed array has one number for each. */
export type ArrayInput = HostArray | readonly Nested[] | ShapedArray | Tensor;

/** Arrays of examples by name, or one array. */
export type ArrayTree = ArrayInput | { readonly [name: string]: ArrayTree };

/** A tree of leaves by name, or one leaf: of tensors on a device, of values while tracing. */
export type ExampleTree<L> = L | { readonly [name: string]: ExampleTree<L> };

/** The same tree on a device. */
export type TensorTree = ExampleTree<Tensor>;

export interface PlacedArrays {
  readonly tree: TensorTree;
  /** The number of examples. */
  readonly length: number;
}

export interface Placement {
  readonly engine?: EngineChoice | undefined;
  readonly device?: number | Device | undefined;
}

/**
 * Puts examples on a device. All arrays of a tree must have the same number of them.
 *
 * @example
 * ```ts
 * const { tree, length } = placeArrays("train data", {
 *   x: { data: pixels, shape: [60_000, 28, 28, 1] },
 *   y: labels,
 * });
 * ```
 */
export function placeArrays(what: string, arrays: ArrayTree, placement: Placement = {}): PlacedArrays {
  const leaves: unknown[] = [];
  const shape = flatten(wrapped(arrays), leaves);
  const paths = leafPaths(shape);
  if (leaves.length === 0)
    throw new EspalierError("DATA_INVALID", `${what}: there are no arrays`, {
      fix: "give typed arrays with shapes, nested arrays of numbers, or tensors",
    });
  const tensors = leaves.map((leaf, i) => placeOne(nameOf(what, paths[i]), leaf, placement));
  const [first] = tensors as [Tensor];
  const length = first.shape[0] as number;
  tensors.forEach((tensor, i) => {
    if (tensor.shape[0] !== length)
      throw new EspalierError(
        "DATA_LENGTH",
        `${what}: ${nameOf("", paths[0])} has ${length} examples and ${nameOf("", paths[i])} has ${tensor.shape[0]}`,
        { fix: "give each array one entry along its first axis for every example" },
      );
  });
  return { tree: unflatten(shape, tensors) as TensorTree, length };
}

/** Typed arrays and tensors are leaves of trees already; arrays of numbers and shaped ones are made so. */
class Wrapped {
  readonly array: ShapedArray;
  constructor(array: ShapedArray) {
    this.array = array;
  }
}

function wrapped(tree: unknown): unknown {
  if (Array.isArray(tree)) return new Wrapped({ data: tree as Nested });
  if (!isPlainObject(tree)) return tree;
  if (isShaped(tree)) return new Wrapped(tree);
  return Object.fromEntries(Object.entries(tree).map(([name, part]) => [name, wrapped(part)]));
}

const isShaped = (
  tree: Readonly<Record<string, unknown>>,
): tree is Readonly<Record<string, unknown>> & ShapedArray =>
  "data" in tree &&
  (ArrayBuffer.isView(tree.data) || Array.isArray(tree.data)) &&
  Object.keys(tree).every((key) => key === "data" || key === "shape" || key === "dtype");

function placeOne(name: string, leaf: unknown, placement: Placement): Tensor {
  const tensor = leaf instanceof Tensor ? leaf : putOne(name, leaf, placement);
  if (tensor.ndim > 0) return tensor;
  throw new EspalierError("DATA_INVALID", `${name} is one number`, {
    fix: "give an array whose first axis counts the examples",
  });
}

function putOne(name: string, leaf: unknown, { engine, device }: Placement): Tensor {
  const where = { ...(engine !== undefined && { engine }), ...(device !== undefined && { device }) };
  const { data, shape, dtype } =
    leaf instanceof Wrapped ? leaf.array : { data: leaf as HostArray, shape: undefined, dtype: undefined };
  if (!(leaf instanceof Wrapped) && !ArrayBuffer.isView(leaf))
    throw new EspalierError("DATA_INVALID", `${name} is ${described(leaf)}, which is no array of examples`, {
      fix: "give a typed array, { data, shape }, nested arrays of numbers, or a tensor",
    });
  try {
    return put(data, { ...where, ...(shape && { shape }), ...(dtype && { dtype }) });
  } catch (cause) {
    if (!(cause instanceof EspalierError)) throw cause;
    const [message = ""] = cause.message.split(` [${cause.code}]`);
    throw new EspalierError(cause.code, `${name}: ${message}`, {
      ...(cause.fix && { fix: cause.fix }),
      cause,
    });
  }
}

const nameOf = (what: string, path: string | undefined): string =>
  [what, path].filter((part) => part).join(" ") || "the array";

const described = (value: unknown): string =>
  typeof value === "object" && value !== null ? `a ${value.constructor.name}` : String(value);

/** The arrays of a tree that are on the host, with their paths. Tensors are left out. */
export function hostArrays(
  tree: ArrayTree | undefined,
  path = "",
): readonly { readonly path: string; readonly data: HostArray | readonly Nested[] }[] {
  if (ArrayBuffer.isView(tree)) return [{ path, data: tree }];
  if (Array.isArray(tree)) return [{ path, data: tree as readonly Nested[] }];
  if (!isPlainObject(tree)) return [];
  if (isShaped(tree)) return hostArrays(tree.data as ArrayTree, path);
  return Object.entries(tree).flatMap(([name, part]) =>
    hostArrays(part as ArrayTree, path === "" ? name : `${path}.${name}`),
  );
}

/** True for an array of whole numbers, by its element type. */
export function isIntegers(array: ArrayTree): boolean {
  if (array instanceof Tensor) return ["i32", "u32", "u8"].includes(array.dtype);
  if (isPlainObject(array) && isShaped(array))
    return array.dtype ? ["i32", "u32", "u8"].includes(array.dtype) : isIntegers(array.data as ArrayTree);
  return ArrayBuffer.isView(array) && !(array instanceof Float32Array || array instanceof Float64Array);
}
