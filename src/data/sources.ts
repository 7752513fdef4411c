import { EspalierError, shown } from "../core/index.ts";
import type { HostArray } from "../engine/index.ts";
import { type ArrayTree, exampleCount } from "./arrays.ts";
import {
  type Bookmark,
  checkArgument,
  count,
  Dataset,
  emptyError,
  type Reader,
  sourceError,
} from "./dataset.ts";
import { batchArrays, type Example, type ExampleArrays, exampleLeaves, putAt } from "./example.ts";

/**
 * Examples from arrays in memory, whose first axes count them.
 *
 * @example
 * ```ts
 * const data = fromArrays({ x: { data: pixels, shape: [60_000, 28, 28, 1] }, y: labels });
 * const { train, validation } = data.split({ train: 0.9, validation: 0.1 });
 * ```
 */
export function fromArrays(
  arrays: { readonly x: ArrayTree; readonly y?: ArrayTree; readonly weight?: ArrayTree },
  name = "arrays",
): Dataset<Example> {
  const leaves = exampleLeaves(name, arrays).map(({ path, data, shape, dtype }) => {
    const tail = shape.slice(1);
    // Plain arrays and f64 become f32 once, not for each batch.
    const kept = (
      dtype === "f32" && !(data instanceof Float32Array) ? Float32Array.from(data) : data
    ) as HostArray;
    const type = kept.constructor as Float32ArrayConstructor;
    return { path, data: kept, type, shape, tail, size: tail.reduce((a, b) => a * b, 1) };
  });
  const length = exampleCount(
    name,
    leaves.map(({ path, shape }) => ({ path: path.join("."), shape })),
  );
  if (length === 0) throw emptyError(name);
  const whole: Record<string, unknown> = {};
  for (const { path, data, shape } of leaves) putAt(whole, path, { data, shape });
  return new Dataset<Example>({
    name,
    length,
    recipe: { kind: "fromArrays", args: [whole, name] },
    get: (index) => {
      const example: Record<string, unknown> = {};
      for (const { path, data, tail, size } of leaves)
        putAt(example, path, { data: data.subarray(index * size, (index + 1) * size), shape: tail });
      return example as Partial<Example> as Example;
    },
    gather: (rows, _pass, memory) => {
      const arrays = batchArrays(leaves, rows.length, memory);
      const batch: Record<string, unknown> = {};
      for (const [i, target] of arrays.entries()) {
        const { path, data, tail, size } = leaves[i] as (typeof leaves)[number];
        if (!gatherRows(data, size, rows, target)) return undefined;
        putAt(batch, path, { data: target, shape: [rows.length, ...tail] });
      }
      return batch as Partial<ExampleArrays> as ExampleArrays;
    },
  });
}

/** Writes rows of an array one after the other; false where a number of them is not finite. */
function gatherRows(data: HostArray, size: number, rows: Int32Array, target: HostArray): boolean {
  if (data instanceof Float32Array) return gatherFloats(data, size, rows, target as Float32Array);
  for (let i = 0; i < rows.length; i++) {
    const from = (rows[i] as number) * size;
    if (size === 1) target[i] = data[from] as number;
    else target.set(data.subarray(from, from + size), i * size);
  }
  return true;
}

/** The same of floats. In a function of its own, which V8 compiles for one kind of array. */
function gatherFloats(data: Float32Array, size: number, rows: Int32Array, target: Float32Array): boolean {
  let to = 0;
  // Stays 0 while all are finite.
  let sum = 0;
  // Both ends are looked at first, so that rows, which are far apart and may lie across two lines of the cache, come
  // from memory side by side: waiting for each took two thirds of the time.
  for (let i = 0; i < rows.length; i++) {
    const from = (rows[i] as number) * size;
    const first = data[from] as number;
    const last = data[from + size - 1] as number;
    sum += first - first + (last - last);
  }
  for (let i = 0; i < rows.length; i++) {
    const from = (rows[i] as number) * size;
    const end = from + size;
    let k = from;
    // Four at a time: one sum for each number would wait for the one before.
    for (; k + 4 <= end; k += 4, to += 4) {
      const a = data[k] as number;
      const b = data[k + 1] as number;
      const c = data[k + 2] as number;
      const d = data[k + 3] as number;
      sum += a - a + (b - b) + (c - c + (d - d));
      target[to] = a;
      target[to + 1] = b;
      target[to + 2] = c;
      target[to + 3] = d;
    }
    for (; k < end; k++) {
      const number = data[k] as number;
      sum += number - number;
      target[to++] = number;
    }
  }
  return sum === 0;
}

/**
 * Rows of a list, by number, or of another iterable, one after the other. An iterable that can be run through once, as
 * a generator object, is given by the function that makes it: `fromIterable(() => rows())`.
 *
 * @example
 * ```ts
 * const squares = fromIterable([1, 2, 3]).map((n) => ({ x: n, y: n * n }));
 * ```
 */
export function fromIterable<T>(rows: Iterable<T> | (() => Iterable<T>), name = "rows"): Dataset<T> {
  if (Array.isArray(rows)) {
    const list: readonly T[] = rows;
    return new Dataset({ name, length: list.length, get: (index) => list[index] as T });
  }
  return iterated("fromIterable", name, rows);
}

/**
 * Rows one after the other from an async iterable: a cursor of a database, pages of a service, a stream of Node. Its
 * bookmark is a count: a reader that is opened from it runs through the rows before, as such a source cannot seek.
 *
 * @example
 * ```ts
 * const rows = fromAsyncIterable(() => database.query("select * from houses order by id"));
 * ```
 */
export const fromAsyncIterable = <T>(
  rows: AsyncIterable<T> | (() => AsyncIterable<T>),
  name = "rows",
): Dataset<T> => iterated("fromAsyncIterable", name, rows);

type AnyIterator<T> = Iterator<T> | AsyncIterator<T>;

/** Rows of an iterable, of whichever kind, or of one that a function makes for each reader. */
function iterated<T>(kind: string, name: string, rows: unknown): Dataset<T> {
  let spent = false;
  const begin = (): AnyIterator<T> => {
    if (spent)
      throw new EspalierError("DATA_SPENT", `${name}: its rows have been read, and can be read once only`, {
        fix: `give the function that makes them: ${kind}(() => rows())`,
      });
    const iterable = (typeof rows === "function" ? rows() : rows) as
      | Readonly<Record<symbol, (() => AnyIterator<T>) | undefined>>
      | undefined;
    const iterator = (iterable?.[Symbol.asyncIterator] ?? iterable?.[Symbol.iterator])?.call(iterable);
    if (!iterator)
      throw new EspalierError("DATA_INVALID", `${kind}: ${name} is ${shown(iterable)}`, {
        fix: "give an iterable, or a function that makes one",
      });
    const once =
      (iterator as unknown) === iterable || ["on", "getReader"].some((name) => name in Object(iterable));
    spent = typeof rows !== "function" && once;
    return iterator;
  };
  return new Dataset({ name, open: (_pass, from) => countingReader(name, from, begin()) });
}

/** Reads from something that can only go on. */
function countingReader<T>(name: string, from: Bookmark | undefined, iterator: AnyIterator<T>): Reader<T> {
  const start = count(name, from, "rows");
  let read = 0;
  let done = false;
  const next = async (): Promise<IteratorResult<T>> => {
    try {
      const result = await iterator.next();
      if (!result.done) read++;
      done = result.done === true;
      return result;
    } catch (cause) {
      done = true;
      throw sourceError(name, read, cause);
    }
  };
  return {
    next: async () => {
      while (!done && read < start)
        if ((await next()).done)
          throw new EspalierError(
            "STATE_MISMATCH",
            `${name}: it has ${read} rows, and row ${start} comes next`,
            { fix: "go on with the data that the bookmark was made of" },
          );
      if (done) return undefined;
      const result = await next();
      return result.done ? undefined : { value: result.value, index: read - 1 };
    },
    bookmark: () => ({ rows: Math.max(read, start) }),
    close: async () => {
      if (!done) await iterator.return?.();
      done = true;
    },
  };
}

/**
 * Rows of several datasets side by side: row i has the i-th of each. For examples whose parts lie in files of their own.
 *
 * @example
 * ```ts
 * const digits = zip({ x: idx("train-images-idx3-ubyte.gz"), y: idx("train-labels-idx1-ubyte.gz") });
 * ```
 */
export function zip<P extends Readonly<Record<string, Dataset<unknown>>>>(
  parts: P,
): Dataset<{ readonly [Name in keyof P]: P[Name] extends Dataset<infer T> ? T : never }> {
  type Row = { readonly [Name in keyof P]: P[Name] extends Dataset<infer T> ? T : never };
  const entries = Object.entries(parts ?? {});
  const ok = entries.length > 0 && entries.every(([, part]) => part instanceof Dataset);
  checkArgument(ok, "zip", parts, "datasets by name: { x, y }");
  const [first] = entries as [(typeof entries)[number]];
  const name = entries.map(([, part]) => part.name).join(", ");
  const [, { length }] = first;
  for (const [key, part] of entries)
    if (part.length === undefined || length === undefined || part.length !== length)
      throw new EspalierError(
        "DATA_LENGTH",
        `zip: ${first[0]} has ${length ?? "an unknown number of"} rows and ${key} has ${part.length ?? "an unknown number of"}`,
        { fix: "give datasets with as many rows each; (await data.inMemory()) has a length" },
      );
  return new Dataset<Row>({
    name,
    length: length as number,
    recipe: () => {
      const recipes = entries.flatMap(([key, { recipe }]) => (recipe ? [[key, recipe] as const] : []));
      if (recipes.length < entries.length) return undefined;
      return { kind: "zip", args: [Object.fromEntries(recipes)] };
    },
    get: (index, pass) => {
      const values = entries.map(([, part]) => part.get(index, pass));
      const row = (all: readonly unknown[]) =>
        Object.fromEntries(entries.map(([key], i) => [key, all[i]])) as Row;
      return values.some((value) => value instanceof Promise) ? Promise.all(values).then(row) : row(values);
    },
  });
}
