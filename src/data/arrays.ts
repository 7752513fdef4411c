import { EspalierError, errorText, isPlainObject, shown } from "../core/index.ts";
import {
  type Device,
  type DType,
  type EngineChoice,
  type HostArray,
  type Nested,
  onDevice,
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

export type TensorTree = ExampleTree<Tensor>;

export interface Placement {
  readonly engine?: EngineChoice | undefined;
  readonly device?: number | Device | undefined;
}

/** Puts examples on a device. All arrays of a tree must have the same number of them. */
export function placeArrays(what: string, arrays: ArrayTree, placement: Placement = {}) {
  const placed: { readonly path: string; readonly shape: Shape }[] = [];
  const place = (path: string, tree: unknown): unknown => {
    if (tree === undefined || tree === null) return tree;
    if (isPlainObject(tree) && !isShaped(tree)) {
      const parts = Object.entries(tree).map(([name, part]) => [name, place(joined(path, name), part)]);
      return Object.fromEntries(parts);
    }
    const tensor =
      tree instanceof Tensor ? onMesh(tree, placement) : putOne(nameOf(what, path), tree, placement);
    placed.push({ path, shape: tensor.shape });
    return tensor;
  };
  const tree = place("", arrays) as TensorTree;
  return { tree, length: exampleCount(what, placed) };
}

/** The number of examples, which must be the same in all arrays. */
export function exampleCount(
  what: string,
  arrays: readonly { readonly path: string; readonly shape: Shape }[],
): number {
  const [first] = arrays;
  if (!first)
    throw new EspalierError("DATA_INVALID", `${what}: there are no arrays`, {
      fix: "give typed arrays with shapes, nested arrays of numbers, or tensors",
    });
  for (const { path, shape } of arrays) {
    if (shape.length === 0)
      throw new EspalierError("DATA_INVALID", `${nameOf(what, path)} is one number`, {
        fix: "give an array whose first axis counts the examples",
      });
    if (shape[0] !== first.shape[0])
      throw new EspalierError(
        "DATA_LENGTH",
        `${what}: ${nameOf("", first.path)} has ${first.shape[0]} examples and ${nameOf("", path)} has ${shape[0]}`,
        { fix: "give each array one entry along its first axis for every example" },
      );
  }
  return first.shape[0] as number;
}

/** True for numbers with what they are, and not for arrays by name. */
export const isShaped = (
  tree: Readonly<Record<string, unknown>>,
): tree is Readonly<Record<string, unknown>> & ShapedArray =>
  "data" in tree &&
  (ArrayBuffer.isView(tree.data) || Array.isArray(tree.data)) &&
  Object.keys(tree).every((key) => key === "data" || key === "shape" || key === "dtype");

/** A tensor where it is, except where several devices need it. */
const onMesh = (tensor: Tensor, { device }: Placement): Tensor =>
  typeof device === "object" && device.mesh ? onDevice(tensor, device) : tensor;

function putOne(name: string, array: unknown, { engine, device }: Placement): Tensor {
  const shaped = isPlainObject(array) && isShaped(array) ? array : { data: array as HostArray };
  if (!ArrayBuffer.isView(shaped.data) && !Array.isArray(shaped.data))
    throw new EspalierError("DATA_INVALID", `${name} is ${shown(array)}, which is no array of examples`, {
      fix: "give a typed array, { data, shape }, nested arrays of numbers, or a tensor",
    });
  const { data, ...how }: ShapedArray = shaped;
  const where = { ...(engine !== undefined && { engine }), ...(device !== undefined && { device }) };
  return withName(name, () => put(data, { ...how, ...where }));
}

/** Runs what may throw one of our errors, and adds which data it is about. */
export function withName<T>(what: string, work: () => T): T {
  try {
    return work();
  } catch (cause) {
    if (!(cause instanceof EspalierError)) throw cause;
    const { code, fix, at } = cause;
    const text = `${what}: ${errorText(cause)}`;
    throw new EspalierError(code, text, { cause, ...(fix && { fix }), ...(at && { at }) });
  }
}

const joined = (path: string, name: string): string => (path === "" ? name : `${path}.${name}`);

const nameOf = (what: string, path: string): string =>
  [what, path].filter((part) => part).join(" ") || "the array";

/** The numbers of arrays of a tree that are on the host, with their paths. Tensors are left out. */
export function hostNumbers(
  tree: unknown,
  path = "",
): readonly { readonly path: string; readonly numbers: HostArray | readonly number[] }[] {
  if (ArrayBuffer.isView(tree)) return [{ path, numbers: tree as HostArray }];
  if (Array.isArray(tree)) return [{ path, numbers: tree.flat(Number.POSITIVE_INFINITY).map(Number) }];
  if (!isPlainObject(tree)) return [];
  if (isShaped(tree)) return hostNumbers(tree.data, path);
  return Object.entries(tree).flatMap(([name, part]) => hostNumbers(part, joined(path, name)));
}

/** True for an array of whole numbers, by its element type. */
export function isIntegers(array: ArrayTree): boolean {
  if (array instanceof Tensor) return ["i32", "u32", "u8"].includes(array.dtype);
  if (isPlainObject(array) && isShaped(array))
    return array.dtype ? ["i32", "u32", "u8"].includes(array.dtype) : isIntegers(array.data as ArrayTree);
  return ArrayBuffer.isView(array) && !(array instanceof Float32Array || array instanceof Float64Array);
}
