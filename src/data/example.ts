import { didYouMean, EspalierError, isPlainObject, shown } from "../core/index.ts";
import type { HostArray, Nested, Shape } from "../engine/index.ts";
import { isShaped } from "./arrays.ts";
import type { Item } from "./dataset.ts";

/** Part of an example: a number, a typed array, nested arrays of numbers, numbers with a shape, or those by name. */
export type ExampleValue =
  | number
  | boolean
  | HostArray
  | readonly Nested[]
  | { readonly data: HostArray; readonly shape: Shape }
  | { readonly [name: string]: ExampleValue };

/** One training example: inputs and targets. */
export interface Example {
  readonly x: ExampleValue;
  readonly y?: ExampleValue;
  /** How much it counts, or each part of it. Default: 1. */
  readonly weight?: ExampleValue;
}

/** An array of examples, whose first axis counts them. */
export interface ExampleArray {
  readonly data: HostArray;
  readonly shape: Shape;
}

/** Arrays of examples by name, or one. */
export type ExampleArrayTree = ExampleArray | { readonly [name: string]: ExampleArrayTree };

/** Examples as arrays: what `supervisedTask` takes. */
export interface ExampleArrays {
  readonly x: ExampleArrayTree;
  readonly y?: ExampleArrayTree;
  readonly weight?: ExampleArray;
}

/** One array of an example: where it is in it, the shape of one example's part, and the type of its numbers. */
export interface LeafLayout {
  /** Names on the way to it: ["x"], ["x", "image"]. */
  readonly path: readonly string[];
  readonly shape: Shape;
  readonly size: number;
  readonly dtype: keyof typeof arrayTypes;
}

/** Gives at least so many bytes for the arrays of a batch; there may be numbers of an earlier batch in them. */
export type BatchMemory = (bytes: number) => ArrayBuffer;

const newMemory: BatchMemory = (bytes) => new ArrayBuffer(bytes);

type ArrayType = (typeof arrayTypes)[keyof typeof arrayTypes];

/** Arrays of `rows` examples in one piece of memory: to get one costs as much as to fill a small one. */
export function batchArrays(
  parts: readonly { readonly size: number; readonly type: ArrayType }[],
  rows: number,
  memory = newMemory,
): readonly HostArray[] {
  let bytes = 0;
  for (const { size, type } of parts) bytes += aligned(rows * size * type.BYTES_PER_ELEMENT);
  const buffer = memory(bytes);
  const arrays: HostArray[] = [];
  let at = 0;
  for (const { size, type } of parts) {
    arrays.push(new type(buffer, at, rows * size));
    at += aligned(rows * size * type.BYTES_PER_ELEMENT);
  }
  return arrays;
}

/** Bytes up to the next multiple of 8, where any typed array may begin. */
const aligned = (bytes: number): number => Math.ceil(bytes / 8) * 8;

const arrayTypes = { f32: Float32Array, i32: Int32Array, u32: Uint32Array, u8: Uint8Array };

/** A part of an example, or of all examples, with its numbers. */
export interface Leaf extends Omit<LeafLayout, "size"> {
  readonly data: ArrayLike<number>;
}

const sizeOf = (shape: Shape): number => shape.reduce((a, b) => a * b, 1);

/** The arrays of examples like this one. Plain numbers are f32. */
export const exampleLayout = (name: string, { index, value }: Item<Example>): readonly LeafLayout[] =>
  exampleLeaves(`${name}, row ${index}`, value).map((leaf) => ({ ...leaf, size: leaf.data.length }));

const parts = ["x", "y", "weight"];

/** The parts of an example, x before y and names in order. */
export function exampleLeaves(where: string, value: unknown): readonly Leaf[] {
  if (!isPlainObject(value) || value.x === undefined)
    throw new EspalierError("DATA_INVALID", `${where}: ${shown(value)} is no example`, {
      fix: "turn rows into examples { x, y }: data.map(...), or data.transform(columns({ x, y })) once it is fitted",
    });
  const other = Object.keys(value).find((name) => !parts.includes(name));
  if (other !== undefined)
    throw new EspalierError(
      "DATA_INVALID",
      `${where}: an example has no "${other}"${didYouMean(other, parts)}`,
      {
        fix: "give x, y and weight alone: data.map(({ x, y }) => ({ x, y })), or name inputs and targets in a taskSpec",
      },
    );
  const leaves: Leaf[] = [];
  const collect = (path: readonly string[], part: unknown): void => {
    const leaf = leafOf(where, path, part);
    if (leaf) leaves.push(leaf);
    else
      for (const name of Object.keys(part as object).sort())
        collect([...path, name], (part as Readonly<Record<string, unknown>>)[name]);
  };
  for (const name of parts) if (value[name] !== undefined) collect([name], value[name]);
  return leaves;
}

/** Numbers with their shape and type; undefined for a tree of them. */
function leafOf(where: string, path: readonly string[], value: unknown): Leaf | undefined {
  if (isPlainObject(value)) {
    if (!isNumbers(value.data) && !isShaped(value)) return undefined;
    const leaf = leafOf(where, path, value.data) as Leaf;
    const { shape = leaf.shape, dtype = leaf.dtype } = value as Partial<Pick<Leaf, "shape" | "dtype">>;
    if (Array.isArray(shape) && sizeOf(shape) === leaf.data.length && dtype in arrayTypes)
      return {
        ...leaf,
        data: dtype === leaf.dtype ? leaf.data : arrayTypes[dtype].from(leaf.data),
        shape,
        dtype,
      };
    throw new EspalierError(
      "DATA_INVALID",
      `${where}: ${path.join(".")} has ${leaf.data.length} numbers of type ${dtype} and the shape ${shown(shape)}`,
      { fix: "give { data, shape } with as many numbers as the shape has places" },
    );
  }
  if (isNumbers(value)) return { path, data: value, shape: [value.length], dtype: dtypeOf(value) };
  if (typeof value === "number" || typeof value === "boolean")
    return { path, data: [Number(value)], shape: [], dtype: "f32" };
  if (!Array.isArray(value))
    throw new EspalierError("DATA_INVALID", `${where}: ${path.join(".")} is ${shown(value)}`, {
      fix: "give a number, a typed array, nested arrays of numbers, { data, shape }, or an object of those",
    });
  const shape = nestedShape(value);
  const data = value.flat(Number.POSITIVE_INFINITY) as readonly unknown[];
  if (
    data.length === sizeOf(shape) &&
    data.every((one) => typeof one === "number" || typeof one === "boolean")
  )
    return { path, data: data.map(Number), shape, dtype: "f32" };
  throw new EspalierError(
    "DATA_RAGGED",
    `${where}: ${path.join(".")} is ${shown(value)}, which is no array of numbers with one shape`,
    { fix: "give nested arrays whose rows are all as long, of numbers" },
  );
}

const isNumbers = (value: unknown): value is HostArray =>
  value instanceof Float32Array ||
  value instanceof Int32Array ||
  value instanceof Uint8Array ||
  value instanceof Uint32Array ||
  value instanceof Float64Array;

/** The type that numbers have in batches: f64 becomes f32. */
function dtypeOf(data: HostArray): LeafLayout["dtype"] {
  if (data instanceof Int32Array) return "i32";
  if (data instanceof Uint32Array) return "u32";
  return data instanceof Uint8Array ? "u8" : "f32";
}

const nestedShape = (value: unknown): readonly number[] =>
  Array.isArray(value) ? [value.length, ...(value.length > 0 ? nestedShape(value[0]) : [])] : [];

/**
 * Writes examples one beside the other into arrays. All examples are like the first; one that is not, or has a number
 * that is NaN or infinite, is an error with the number of its row.
 */
export class ExampleWriter {
  readonly #name: string;
  readonly #layout: readonly LeafLayout[];
  readonly #capacity: number;
  readonly #leaves: readonly HostArray[];

  constructor(
    name: string,
    like: Item<Example> | readonly LeafLayout[],
    capacity: number,
    memory?: BatchMemory,
  ) {
    this.#name = name;
    this.#layout = "value" in like ? exampleLayout(name, like) : like;
    this.#capacity = capacity;
    const parts = this.#layout.map(({ size, dtype }) => ({ size, type: arrayTypes[dtype] }));
    this.#leaves = batchArrays(parts, capacity, memory);
  }

  write(at: number, { value, index }: Item<Example>): void {
    const where = `${this.#name}, row ${index}`;
    for (let i = 0; i < this.#layout.length; i++) {
      const { path, shape, size, dtype } = this.#layout[i] as LeafLayout;
      let part: unknown = value;
      for (const name of path) part = (part as Readonly<Record<string, unknown>> | undefined)?.[name];
      if (part === undefined) throw this.#unlike(where, path, "is missing");
      const leaf = leafOf(where, path, part);
      if (!leaf || !sameShape(leaf.shape, shape))
        throw this.#unlike(
          where,
          path,
          leaf ? `has the shape [${leaf.shape}] and not [${shape}]` : "is a tree",
        );
      if (leaf.dtype !== dtype)
        throw this.#unlike(where, path, `has numbers of type ${leaf.dtype} and not ${dtype}`);
      const target = this.#leaves[i] as HostArray;
      if (dtype === "f32") checkFinite(where, path, leaf.data);
      target.set(leaf.data, at * size);
    }
    this.#checkNames(where, [], value);
  }

  /** Refuses parts that the examples before did not have. */
  #checkNames(where: string, above: readonly string[], tree: object): void {
    const depth = above.length;
    for (const [name, part] of Object.entries(tree)) {
      const known = this.#layout.find(
        ({ path }) => path[depth] === name && above.every((step, i) => path[i] === step),
      );
      if (!known && part !== undefined) throw this.#unlike(where, [...above, name], "is there");
      if (known && known.path.length > depth + 1) this.#checkNames(where, [...above, name], part);
    }
  }

  arrays(): ExampleArrays {
    const root: Record<string, unknown> = {};
    for (const [i, { path, shape }] of this.#layout.entries())
      putAt(root, path, { data: this.#leaves[i], shape: [this.#capacity, ...shape] });
    return root as Partial<ExampleArrays> as ExampleArrays;
  }

  #unlike(where: string, path: readonly string[], what: string): EspalierError {
    const arrays = this.#layout.map((leaf) => `${leaf.path.join(".")} ${leaf.dtype}[${leaf.shape}]`);
    const isImages = this.#layout.some(({ shape }) => shape.length === 3);
    const sized = "; images of a folder get one size by imageFolder(path, { size: 64 })";
    return new EspalierError(
      "DATA_RAGGED",
      `${where}: ${path.join(".")} ${what}, unlike in the rows before`,
      { fix: `give each example the same arrays: ${arrays.join(", ")}${isImages ? sized : ""}` },
    );
  }
}

function sameShape(a: Shape, b: Shape): boolean {
  if (a.length !== b.length) return false;
  for (let axis = 0; axis < a.length; axis++) if (a[axis] !== b[axis]) return false;
  return true;
}

/** Refuses numbers that are NaN or infinite, or so large that they are as f32. */
function checkFinite(where: string, path: readonly string[], data: ArrayLike<number>): void {
  for (let i = 0; i < data.length; i++) {
    const number = Math.fround(data[i] as number);
    if (number - number === 0) continue;
    const place = data.length > 1 ? `, number ${i} of its ${data.length}` : "";
    throw new EspalierError("DATA_NOT_FINITE", `${where}: ${path.join(".")} is ${data[i]}${place}`, {
      fix: "leave such rows out with filter, or replace the number",
    });
  }
}

/** Puts something into a tree, at the end of a path of names. */
export function putAt(tree: Record<string, unknown>, path: readonly string[], value: unknown): void {
  const last = path.length - 1;
  let node = tree;
  for (let i = 0; i < last; i++) {
    const name = path[i] as string;
    node[name] ??= {};
    node = node[name] as Record<string, unknown>;
  }
  node[path[last] as string] = value;
}
