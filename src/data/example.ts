import { EspalierError, isPlainObject, shown } from "../core/index.ts";
import type { HostArray, Nested, Shape } from "../engine/index.ts";

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
}

/** One array of an example: where it is in it, the shape of one example's part, and the type of its numbers. */
export interface LeafLayout {
  /** Names on the way to it: ["x"], ["x", "image"]. */
  readonly path: readonly string[];
  readonly shape: Shape;
  readonly size: number;
  readonly dtype: "f32" | "i32" | "u32" | "u8";
}

function newArray(
  dtype: LeafLayout["dtype"],
  length: number,
  memory: ArrayBufferLike | undefined,
  at: number,
): HostArray {
  const buffer = memory ?? new ArrayBuffer(length * arrayTypes[dtype].BYTES_PER_ELEMENT);
  const from = memory ? at : 0;
  if (dtype === "f32") return new Float32Array(buffer, from, length);
  if (dtype === "i32") return new Int32Array(buffer, from, length);
  if (dtype === "u32") return new Uint32Array(buffer, from, length);
  return new Uint8Array(buffer, from, length);
}

const arrayTypes = { f32: Float32Array, i32: Int32Array, u32: Uint32Array, u8: Uint8Array };

/** A row and its number: an `Item<Example>`. */
interface NumberedExample {
  readonly value: Example;
  readonly index: number;
}

/** The numbers of one part of an example, or of all examples. */
export interface Leaf {
  readonly path: readonly string[];
  readonly data: ArrayLike<number>;
  readonly shape: Shape;
  readonly dtype: LeafLayout["dtype"];
}

/** The arrays of examples like this one. Plain numbers are f32. */
export function exampleLayout(name: string, example: NumberedExample): readonly LeafLayout[] {
  const leaves = exampleLeaves(`${name}, row ${example.index}`, example.value);
  return leaves.map(({ path, shape, dtype }) => ({ path, shape, dtype, size: sizeOf(shape) }));
}

/** The parts of an example, x before y and names in order. */
export function exampleLeaves(where: string, value: unknown): readonly Leaf[] {
  if (!isPlainObject(value) || !("x" in value))
    throw new EspalierError("DATA_INVALID", `${where}: ${shown(value)} is no example`, {
      fix: "turn rows into examples { x, y }: data.map(...), or data.transform(columns({ x, y })) once it is fitted",
    });
  const leaves: Leaf[] = [];
  for (const part of ["x", "y"] as const)
    if (value[part] !== undefined) collect(where, [part], value[part], leaves);
  return leaves;
}

const sizeOf = (shape: Shape): number => shape.reduce((a, b) => a * b, 1);

function collect(where: string, path: readonly string[], value: unknown, leaves: Leaf[]): void {
  const leaf = leafOf(where, path, value);
  if (leaf) {
    leaves.push(leaf);
    return;
  }
  const names = Object.keys(value as object).sort();
  for (const name of names)
    collect(where, [...path, name], (value as Readonly<Record<string, unknown>>)[name], leaves);
}

/** Numbers with their shape and type; undefined for a tree of them. */
function leafOf(where: string, path: readonly string[], value: unknown): Leaf | undefined {
  if (typeof value === "number" || typeof value === "boolean")
    return { path, data: [Number(value)], shape: [], dtype: "f32" };
  if (isNumbers(value)) return { path, data: value, shape: [value.length], dtype: dtypeOf(value) };
  if (Array.isArray(value)) {
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
  if (isPlainObject(value)) {
    if (!isNumbers(value.data)) return undefined;
    const shape = value.shape as Shape | undefined;
    if (Array.isArray(shape) && sizeOf(shape) === value.data.length)
      return { path, data: value.data, shape, dtype: dtypeOf(value.data) };
    throw new EspalierError(
      "DATA_INVALID",
      `${where}: ${path.join(".")} has ${value.data.length} numbers and the shape ${shown(value.shape)}`,
      { fix: "give { data, shape } with as many numbers as the shape has places" },
    );
  }
  throw new EspalierError("DATA_INVALID", `${where}: ${path.join(".")} is ${shown(value)}`, {
    fix: "give a number, a typed array, nested arrays of numbers, { data, shape }, or an object of those",
  });
}

const isNumbers = (value: unknown): value is HostArray =>
  value instanceof Float32Array ||
  value instanceof Int32Array ||
  value instanceof Uint8Array ||
  value instanceof Uint32Array ||
  value instanceof Float64Array;

const dtypeOf = (data: HostArray): LeafLayout["dtype"] =>
  data instanceof Int32Array
    ? "i32"
    : data instanceof Uint32Array
      ? "u32"
      : data instanceof Uint8Array
        ? "u8"
        : "f32";

const nestedShape = (value: unknown): readonly number[] =>
  Array.isArray(value) ? [value.length, ...(value.length > 0 ? nestedShape(value[0]) : [])] : [];

/**
 * Writes examples one beside the other into arrays: of its own, or of memory that it is given. All examples are like
 * the first; one that is not, or has a number that is NaN or infinite, is an error with the number of its row.
 *
 * @example
 * ```ts
 * const writer = new ExampleWriter("digits.csv", items[0], items.length);
 * items.forEach((item, i) => writer.write(i, item));
 * const { x, y } = writer.arrays(); // { data, shape: [items.length, ...] }
 * ```
 */
export class ExampleWriter {
  readonly name: string;
  readonly layout: readonly LeafLayout[];
  readonly capacity: number;
  readonly #leaves: readonly HostArray[];

  constructor(
    name: string,
    like: NumberedExample | readonly LeafLayout[],
    capacity: number,
    memory?: ArrayBufferLike,
  ) {
    this.name = name;
    this.layout = "value" in like ? exampleLayout(name, like) : like;
    this.capacity = capacity;
    let at = 0;
    this.#leaves = this.layout.map(({ size, dtype }) => {
      const array = newArray(dtype, size * capacity, memory, at);
      at = aligned(at + array.byteLength);
      return array;
    });
  }

  /** The bytes that this many examples take. */
  static bytes(layout: readonly LeafLayout[], capacity: number): number {
    return layout.reduce(
      (at, { size, dtype }) => aligned(at + size * capacity * arrayTypes[dtype].BYTES_PER_ELEMENT),
      0,
    );
  }

  /** Writes an example at a place. */
  write(at: number, { value, index }: NumberedExample): void {
    const where = `${this.name}, row ${index}`;
    let found = 0;
    this.layout.forEach(({ path, shape, size, dtype }, i) => {
      let part: unknown = value;
      for (const name of path) part = isPlainObject(part) ? part[name] : undefined;
      if (part === undefined) throw unlike(where, path, "is missing", this.layout);
      found++;
      const leaf = leafOf(where, path, part);
      if (!leaf || leaf.shape.length !== shape.length || leaf.shape.some((n, axis) => n !== shape[axis]))
        throw unlike(
          where,
          path,
          leaf ? `has the shape [${leaf.shape}] and not [${shape}]` : "is a tree",
          this.layout,
        );
      if (leaf.dtype !== dtype)
        throw unlike(where, path, `has numbers of type ${leaf.dtype} and not ${dtype}`, this.layout);
      const target = this.#leaves[i] as HostArray;
      const { data } = leaf;
      const from = at * size;
      if (dtype !== "f32") {
        target.set(data, from);
        return;
      }
      for (let k = 0; k < size; k++) {
        const number = data[k] as number;
        if (number - number !== 0) throw notFinite(where, path, number, k, size);
        target[from + k] = number;
      }
    });
    if (
      found === this.layout.length &&
      value.y !== undefined &&
      !this.layout.some(({ path }) => path[0] === "y")
    )
      throw unlike(where, ["y"], "is there", this.layout);
  }

  /** The first `length` examples as arrays by name; views of what was written. */
  arrays(length = this.capacity): ExampleArrays {
    const root: Record<string, unknown> = {};
    this.layout.forEach(({ path, shape, size }, i) => {
      const data = this.#leaves[i] as HostArray;
      putAt(root, path, { data: data.subarray(0, length * size), shape: [length, ...shape] });
    });
    return root as Partial<ExampleArrays> as ExampleArrays;
  }
}

/** Puts something into a tree, at the end of a path of names. */
export function putAt(tree: Record<string, unknown>, path: readonly string[], value: unknown): void {
  let node = tree;
  for (const name of path.slice(0, -1)) {
    node[name] ??= {};
    node = node[name] as Record<string, unknown>;
  }
  node[path.at(-1) as string] = value;
}

/** Each array begins where its numbers may. */
const aligned = (bytes: number): number => Math.ceil(bytes / 8) * 8;

const unlike = (
  where: string,
  path: readonly string[],
  what: string,
  layout: readonly LeafLayout[],
): EspalierError =>
  new EspalierError("DATA_RAGGED", `${where}: ${path.join(".")} ${what}, unlike in the rows before`, {
    fix: `give each example the same arrays: ${layout.map((leaf) => `${leaf.path.join(".")} ${leaf.dtype}[${leaf.shape}]`).join(", ")}`,
  });

const notFinite = (
  where: string,
  path: readonly string[],
  number: number,
  at: number,
  size: number,
): EspalierError =>
  new EspalierError(
    "DATA_NOT_FINITE",
    `${where}: ${path.join(".")} is ${number}${size > 1 ? `, number ${at} of its ${size}` : ""}`,
    { fix: "leave such rows out with filter, or replace the number" },
  );
