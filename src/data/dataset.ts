import {
  badOption,
  checkOptions,
  checkSize,
  EspalierError,
  emitWarning,
  errorText,
  messageOf,
  type Options,
  option,
  resolveOptions,
  shown,
} from "../core/index.ts";
import { hostRandom } from "../engine/index.ts";
import { Stream } from "../random/index.ts";
import type { StateTree } from "../state/index.ts";
import { type BatchMemory, type Example, type ExampleArrays, ExampleWriter } from "./example.ts";
import { shuffled } from "./loader.ts";
import { dealRows, type StratifyOption, shares, splitTable, stratifyBy } from "./split.ts";
import type { Transform } from "./transform.ts";

// Rows of data, by number or one after the other, and what can be done with them before they are batches:
//
//   csv("houses.csv")              a source: its rows one after the other        Dataset<Row>, a stream
//     .inMemory()                  all of them at once                           Dataset<Row>, indexed: it has a length
//     .split({ train: 0.8, ... })  rows by number
//     .map(row => example)         each row, with random numbers of its own      Dataset<Example>
//        |
//   open(pass, bookmark)  ->  Reader: next(), next(), bookmark(), ...            for streams, in order
//   get(index, pass)      ->  one row                                            for indexed sets, in any order
//
// A pass is one time through the data. What is random about a row follows from the key of the pass and the row's number,
// so that neither the order in which rows are read nor the thread that reads them changes it. A bookmark says where a
// reader stands, in a few plain values: a reader that is opened from it goes on with the same next row.

/** Plain values (JSON) that say where a reader stands. */
export type Bookmark = StateTree;

/** One time through the data. */
export interface Pass {
  readonly epoch: number;
  /** The key of all that is random in this pass. */
  readonly key: Uint32Array;
}

/** A row, and its number in the source. */
export interface Item<T> {
  readonly value: T;
  readonly index: number;
}

/**
 * Reads rows in order. One call of `next` at a time; `undefined` is the end. An error with the code DATA_ROW_INVALID
 * stands for the row it names, and the next call goes on behind it; after any other error the reader is of no use.
 */
export interface Reader<T> {
  next(): Promise<Item<T> | undefined>;
  /**
   * Passes over rows that `next` would give, without making them, and gives their number: fewer at the end. It need not
   * find what is wrong with them. Default: by `next`.
   */
  skip?(rows: number): Promise<number>;
  /** Where the next row begins. */
  bookmark(): Bookmark;
  close(): void | Promise<void>;
}

/** Plain values from which `datasetFromRecipe` makes a dataset again, in another thread. */
export interface Recipe {
  /** The function that makes it, or the method of `of`. */
  readonly kind: string;
  /** Plain values, and recipes. */
  readonly args: readonly unknown[];
  readonly of?: Recipe;
}

/** The example that a function of `map` or `filter` is called for. */
export interface ExampleContext {
  /** The number of the row in its source. */
  readonly index: number;
  readonly epoch: number;
  /** Random numbers of this row in this epoch: the same ones in whatever order and thread rows are read. */
  readonly random: Stream;
}

type Gathered = ExampleArrays | undefined;
type Gather = (rows: Int32Array, pass: Pass, memory?: BatchMemory) => Gathered | Promise<Gathered>;

/** A source of rows: `length` and `get`, or `open`, or all three. */
export interface DatasetSource<T> {
  /** The name for errors: "digits.csv". */
  readonly name: string;
  readonly length?: number | undefined;
  /** The row of a number. What is random about it follows from the key of the pass and the number. */
  readonly get?: (index: number, pass: Pass) => T | Promise<T>;
  /**
   * Examples of many rows at once as arrays, where that is faster than one by one; undefined where a row is wrong, which
   * is then read by `get` to say what is. `memory` gives memory that may have been used before.
   */
  readonly gather?: Gather | undefined;
  /** Rows in order. Default: by `get`, with the number of the next row as bookmark. */
  readonly open?: (pass: Pass, from: Bookmark | undefined) => Reader<T>;
  /** For worker threads. Default: none; use `fromModule`. */
  readonly recipe?: Recipe | (() => Recipe | undefined) | undefined;
  /** The number of a row in its source, by its number here. Default: the same. */
  readonly rowOf?: (index: number, pass: Pass) => number;
  /** The number of random steps (map, filter, shuffle) it consists of, so that each draws numbers of its own. */
  readonly steps?: number;
  /** Bad rows have been left out, and those that a transform finds to be bad are as well. */
  readonly skips?: boolean;
  /** The reason why a column that could be numbers is text, for errors: 'row 30 is "oops"'. */
  readonly textBecause?: ((column: string) => string | undefined) | undefined;
}

const shuffleTable = {
  /** For streams: rows that are held in memory, and shuffled among themselves. Default: 10,000. */
  buffer: option.integer({ min: 1, default: 10_000 }),
  /** Another order for the same pass. Default: 0. */
  seed: option.integer({ default: 0 }),
};

const { hostFoldIn, hostKey } = hostRandom;

/** The pass of an epoch of a seed. */
export const passOf = (seed: number, epoch = 0): Pass => ({ epoch, key: hostFoldIn(hostKey(seed), epoch) });

/** The key of a row (or another whole number) in a pass. */
export const rowKey = ({ key }: Pass, index: number, step = 0): Uint32Array =>
  hostFoldIn(hostFoldIn(hostFoldIn(key, index % 2 ** 32), Math.floor(index / 2 ** 32)), step);

/**
 * Rows, by number or one after the other: of files, arrays or whatever a program can read. A dataset holds no position
 * and never changes; each of its methods makes another one.
 *
 * @example
 * ```ts
 * const rows = await csv("houses.csv").inMemory();
 * const { train, validation } = rows.split({ train: 0.8, validation: 0.2 }, { seed: 1 });
 * const noisy = train.map((row, { random }) => ({ ...row, area: row.area * (0.95 + 0.1 * random.uniform()) }));
 * for await (const row of noisy.take(3)) console.log(row);
 * ```
 */
export class Dataset<T> {
  readonly name: string;
  /** The number of rows. Undefined for a stream, whose rows cannot be had by number. */
  readonly length: number | undefined;
  /** True for a stream that `skipBad` made: what fits a transform to it, or transforms it, leaves bad rows out too. */
  readonly skips: boolean;
  readonly #source: DatasetSource<T>;
  readonly #steps: number;

  constructor(source: DatasetSource<T>) {
    const ok = typeof source?.name === "string";
    checkArgument(ok, "Dataset", source, "{ name, length, get } or { name, open }");
    this.name = source.name;
    this.length = source.get ? source.length : undefined;
    this.skips = source.skips === true && this.length === undefined;
    this.#source = source;
    this.#steps = source.steps ?? 0;
    if (!source.open && this.length === undefined)
      throw new EspalierError("DATA_INVALID", `${source.name}: there is no way to read it`, {
        fix: "give new Dataset({ name, length, get }) for rows by number, or { name, open } for a stream",
      });
  }

  /** Plain values from which a worker thread makes it again; undefined where it holds functions of the program. */
  get recipe(): Recipe | undefined {
    const { recipe } = this.#source;
    return typeof recipe === "function" ? recipe() : recipe;
  }

  /** The number of a row in the source it comes from: of the file, for a part that `split` made. */
  rowOf(index: number, pass?: Pass): number {
    return this.#source.rowOf?.(index, pass ?? passOf(0)) ?? index;
  }

  /** The same of many rows. */
  rowsOf(rows: Int32Array, pass: Pass): Int32Array {
    return this.#source.rowOf ? rows.map((row) => this.rowOf(row, pass)) : rows;
  }

  /** The reason why a column of a file was taken for text, for errors. */
  textBecause(column: string): string | undefined {
    return this.#source.textBecause?.(column);
  }

  /** A row by its number, from 0. Only where `length` is known. */
  get(index: number, pass: Pass = passOf(0)): T | Promise<T> {
    const length = this.#indexed("get");
    if (!Number.isSafeInteger(index) || index < 0 || index >= length)
      throw new EspalierError("DATA_INDEX", `${this.name}: there is no row ${shown(index)} of ${length}`, {
        fix: "give a whole number from 0 up to length",
      });
    const fail = (cause: unknown): never => {
      throw rowError(this.name, this.rowOf(index, pass), cause);
    };
    try {
      const value = this.#source.get?.(index, pass) as T | Promise<T>;
      return value instanceof Promise ? value.catch(fail) : value;
    } catch (cause) {
      return fail(cause);
    }
  }

  /** Examples of rows at once, as arrays, for sources that have a fast way; else undefined. */
  gather(rows: Int32Array, pass: Pass = passOf(0), memory?: BatchMemory): Gathered | Promise<Gathered> {
    return this.#source.gather?.(rows, pass, memory);
  }

  /** Reads rows in order, from the first or from a bookmark. */
  open(pass: Pass = passOf(0), from?: Bookmark): Reader<T> {
    if (this.#source.open) return this.#source.open(pass, from);
    let row = count(this.name, from, "row");
    return {
      next: async () => {
        if (row >= (this.length as number)) return undefined;
        const index = row++;
        return { value: await this.get(index, pass), index: this.rowOf(index, pass) };
      },
      bookmark: () => ({ row }),
      close: () => undefined,
    };
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    for await (const { value } of itemsOf(this)) yield value;
  }

  /**
   * Each row turned into something else. `random` gives numbers for augmentation.
   *
   * @example
   * ```ts
   * images.map(({ x, y }, { random }) => ({ x: random.uniform() < 0.5 ? mirrored(x) : x, y }));
   * ```
   */
  map<U>(fn: (row: T, example: ExampleContext) => U | Promise<U>): Dataset<U> {
    checkArgument(typeof fn === "function", "map", fn, "a function of a row");
    return this.#mapped(undefined, fn);
  }

  /** Each row as the example that a fitted transform makes of it. Unlike `map`, worker threads can do it. */
  transform(transform: Pick<Transform<T>, "apply" | "getState">): Dataset<Example> {
    const ok = typeof transform?.apply === "function";
    checkArgument(ok, "transform", transform, "a transform: columns({ x, y })");
    const recipe = () => ({
      kind: "transform",
      args: [{ kind: "transformFrom", args: [transform.getState()] }],
    });
    const examples = this.#mapped(recipe, (row) => transform.apply(row));
    return this.skips ? examples.skipBad() : examples;
  }

  #mapped<U>(
    recipe: (() => Recipe) | undefined,
    fn: (row: T, example: ExampleContext) => U | Promise<U>,
  ): Dataset<U> {
    const step = this.#steps;
    const apply = (row: T, index: number, pass: Pass) => fn(row, contextOf(pass, index, step));
    return this.#derived(recipe, {
      length: this.length,
      steps: step + 1,
      rowOf: (index, pass) => this.rowOf(index, pass),
      get: (index, pass) => {
        const row = this.get(index, pass);
        const at = this.rowOf(index, pass);
        return row instanceof Promise ? row.then((value) => apply(value, at, pass)) : apply(row, at, pass);
      },
      open: (pass, from) => {
        const reader = this.open(pass, from);
        const each = this.#each(reader, (row, index) => apply(row, index, pass));
        return { ...each, skip: (rows) => passOver(reader, rows) };
      },
    });
  }

  /** The rows for which `keep` gives true: a stream, for their number is not known. */
  filter(keep: (row: T, example: ExampleContext) => boolean | Promise<boolean>): Dataset<T> {
    checkArgument(typeof keep === "function", "filter", keep, "a function of a row");
    const step = this.#steps;
    return this.#derived(undefined, {
      steps: step + 1,
      open: (pass, from) =>
        this.#each(this.open(pass, from), async (row, index) =>
          (await keep(row, contextOf(pass, index, step))) ? row : leftOut,
        ),
    });
  }

  /** A reader of what a function of the program makes of each row. Its errors name the row. */
  #each<U>(
    reader: Reader<T>,
    make: (row: T, index: number) => U | typeof leftOut | Promise<U | typeof leftOut>,
  ): Reader<U> {
    return readerOf(reader, async () => {
      for (let item = await reader.next(); item; item = await reader.next()) {
        const { index } = item;
        try {
          const value = await make(item.value, index);
          if (value !== leftOut) return { value, index };
        } catch (cause) {
          throw rowError(this.name, index, cause);
        }
      }
      return undefined;
    });
  }

  /**
   * The rows that can be read: a stream without those that are an error, as of a corrupt image. A warning at the end
   * says how many they were. Those that a transform cannot use are left out as well.
   */
  skipBad(): Dataset<T> {
    return this.#derived(() => ({ kind: "skipBad", args: [] }), {
      skips: true,
      open: (pass, from) => {
        const reader = this.open(pass, from);
        let [skipped, first] = [0, ""];
        const good = async () => {
          let one = await outcome(reader);
          for (; one instanceof EspalierError; one = await outcome(reader)) {
            first ||= errorText(one);
            skipped += lostRows(one);
          }
          return one;
        };
        const next = async () => {
          const one = await good();
          if (!one && skipped > 0)
            emitWarning(
              `${this.name}: ${skipped} of its rows were left out; the first: ${first}`,
              "DATA_ROWS_SKIPPED",
            );
          return one;
        };
        // Of several threads, only the one that comes to the end with a batch of its own warns.
        return { ...readerOf(reader, next), skip: (rows) => passOver({ next: good }, rows) };
      },
    });
  }

  /**
   * The rows in an order of their own for each pass. Rows by number are shuffled all together. A stream is shuffled in
   * blocks of `buffer` rows, so that rows that are far apart stay so: shuffle such files when they are written.
   */
  shuffle(options: Options<typeof shuffleTable> = {}): Dataset<T> {
    const { buffer, seed } = resolveOptions("shuffle", options, shuffleTable);
    const { length } = this;
    const step = this.#steps;
    const recipe = () => ({ kind: "shuffle", args: [{ buffer, seed }] });
    const keyOf = (pass: Pass): Uint32Array => hostFoldIn(rowKey(pass, shuffling, step), seed >>> 0);
    if (length === undefined)
      return this.#derived(recipe, {
        steps: step + 1,
        open: (pass, from) => shuffledBlocks(this, pass, keyOf(pass), buffer, from),
      });
    let last: { readonly key: Uint32Array; readonly order: Int32Array } | undefined;
    const place = (index: number, pass: Pass): number => {
      const { key } = pass;
      if (!last || last.key[0] !== key[0] || last.key[1] !== key[1])
        last = { key: key.slice(), order: shuffled(keyOf(pass), length) };
      return last.order[index] as number;
    };
    return this.#derived(recipe, {
      length,
      steps: step + 1,
      get: (index, pass) => this.get(place(index, pass), pass),
      rowOf: (index, pass) => this.rowOf(place(index, pass), pass),
    });
  }

  /** Lists of `size` rows, the last one maybe shorter. */
  batch(size: number): Dataset<readonly T[]> {
    checkSize("batch", "size", size);
    const { length = 0 } = this;
    return this.#derived<readonly T[]>(() => ({ kind: "batch", args: [size] }), {
      length: this.length === undefined ? undefined : Math.ceil(length / size),
      get: (index, pass) => {
        const rows = Array.from({ length: Math.min(size, length - index * size) });
        return Promise.all(rows.map((_, i) => this.get(index * size + i, pass)));
      },
      open: (pass, from) => {
        const reader = this.open(pass, within(from, "of"));
        let batches = count(this.name, from, "batches");
        const next = async () => {
          const rows = await outcomes(reader, size);
          if (rows.length === 0) return undefined;
          const index = batches++;
          return { value: rows.map((one) => itemAt(one, index).value), index };
        };
        return readerOf(reader, next, () => ({ of: reader.bookmark(), batches }));
      },
    });
  }

  /** The first `n` rows. */
  take(n: number): Dataset<T> {
    checkOptions("take", { n }, { n: option.integer({ min: 0, required: true }) });
    return this.#derived(() => ({ kind: "take", args: [n] }), {
      length: this.length === undefined ? undefined : Math.min(n, this.length),
      gather: this.#source.gather,
      get: (index, pass) => this.get(index, pass),
      rowOf: (index, pass) => this.rowOf(index, pass),
      open: (pass, from) => {
        const reader = this.open(pass, within(from, "of"));
        let taken = count(this.name, from, "taken");
        const next = async () => (taken++ < n ? reader.next() : undefined);
        const skip = (rows: number) => {
          const most = Math.min(rows, Math.max(0, n - taken));
          taken += most;
          return passOver(reader, most);
        };
        return { ...readerOf(reader, next, () => ({ of: reader.bookmark(), taken })), skip };
      },
    });
  }

  /** The rows of some numbers, in that order. */
  select(rows: ArrayLike<number>, name = this.name): Dataset<T> {
    const length = this.#indexed("select");
    checkArgument(typeof rows?.length === "number", "select", rows, "a list of row numbers");
    const { gather } = this.#source;
    const numbers = Int32Array.from(rows);
    const inner = (row: number): number => numbers[row] as number;
    const wrong = numbers.findIndex((row, i) => row !== rows[i] || row < 0 || row >= length);
    if (wrong >= 0)
      throw new EspalierError("DATA_INDEX", `select: ${this.name} has no row ${shown(rows[wrong])}`, {
        fix: `give whole numbers from 0 up to ${length}`,
      });
    return this.#derived(() => ({ kind: "select", args: [numbers, name] }), {
      name,
      length: numbers.length,
      get: (index, pass) => this.get(inner(index), pass),
      gather: gather && ((chosen, pass, memory) => gather(chosen.map(inner), pass, memory)),
      rowOf: (index, pass) => this.rowOf(inner(index), pass),
    });
  }

  /** The rows of this, then those of another. */
  concat<U>(other: Dataset<U>): Dataset<T | U> {
    checkArgument(other instanceof Dataset, "concat", other, "a dataset");
    const name = this.name === other.name ? this.name : `${this.name} and ${other.name}`;
    const parts: readonly Dataset<T | U>[] = [this, other];
    const { length } = this;
    return new Dataset<T | U>({
      name,
      length: length === undefined || other.length === undefined ? undefined : length + other.length,
      steps: Math.max(this.#steps, other.#steps),
      recipe: () => {
        const [of, rest] = [this.recipe, other.recipe];
        return of && rest && { kind: "concat", args: [rest], of };
      },
      get: (index, pass) =>
        index < (length ?? 0) ? this.get(index, pass) : other.get(index - (length ?? 0), pass),
      open: (pass, from) => {
        let [part, rows] = [count(name, from, "part"), count(name, from, "rows")];
        let reader = (parts[part] ?? other).open(pass, within(from, "of"));
        return {
          next: async () => {
            for (;;) {
              const one = await outcome(reader);
              if (one) return itemAt(one, rows++);
              if (part === 1) return undefined;
              await reader.close();
              part = 1;
              reader = other.open(pass);
            }
          },
          bookmark: () => ({ part, rows, of: reader.bookmark() }),
          close: () => reader.close(),
        };
      },
    });
  }

  /**
   * Parts with the given shares of the rows: each row in one of them, drawn by the seed, in the order of the source.
   * With `stratify` each part has about the same share of every class.
   *
   * @example
   * ```ts
   * const { train, test } = rows.split({ train: 0.9, test: 0.1 }, { seed: 1, stratify: (row) => row.species });
   * ```
   */
  split<const P extends Readonly<Record<string, number>>>(
    parts: P,
    options: SplitOptions<T> = {},
  ): { readonly [Name in keyof P]: Dataset<T> } {
    const dealt = this.#dealt("split", shares("split", parts), options);
    const names = Object.keys(parts);
    const made = dealt.map((rows, i) => [names[i], this.select(rows, `${this.name} (${names[i]})`)]);
    return Object.fromEntries(made) as { readonly [Name in keyof P]: Dataset<T> };
  }

  /** `k` pairs of training and validation rows: each row is validated with once. */
  kFold(
    k: number,
    options: SplitOptions<T> = {},
  ): readonly { readonly train: Dataset<T>; readonly validation: Dataset<T> }[] {
    checkOptions("kFold", { k }, { k: option.integer({ min: 2, required: true }) });
    const folds = this.#dealt("kFold", new Array<number>(k).fill(1 / k), options);
    return folds.map((validation, fold) => {
      const rest = folds.flatMap((rows, i) => (i === fold ? [] : [...rows]));
      return {
        train: this.select(Int32Array.from(rest).sort(), `${this.name} (fold ${fold}, train)`),
        validation: this.select(validation, `${this.name} (fold ${fold}, validation)`),
      };
    });
  }

  #dealt(kind: string, parts: readonly number[], options: SplitOptions<T>): readonly Int32Array[] {
    const length = this.#indexed(kind);
    checkOptions(kind, options, splitTable);
    const { seed, stratify } = options;
    const classes = stratify && stratifyBy(this.name, length, stratify, (index) => this.get(index));
    return dealRows(this.name, length, parts, seed, classes);
  }

  /** All rows in memory, by number: for files that fit, so that they can be split and drawn in any order. */
  async inMemory(): Promise<Dataset<T>> {
    const items = await this.#all();
    return this.#derived(() => ({ kind: "inMemory", args: [] }), {
      length: items.length,
      get: (index) => (items[index] as Item<T>).value,
      rowOf: (index) => (items[index] as Item<T>).index,
    });
  }

  /** Examples as one typed array each, with its shape: for data that fits memory. */
  async toArrays(this: Dataset<Example>): Promise<ExampleArrays> {
    const items = await this.#all();
    const writer = new ExampleWriter(this.name, items[0] as Item<Example>, items.length);
    for (const [i, item] of items.entries()) writer.write(i, item);
    return writer.arrays();
  }

  async #all(): Promise<readonly Item<T>[]> {
    const items: Item<T>[] = [];
    for await (const item of itemsOf(this)) items.push(item);
    if (items.length === 0) throw emptyError(this.name);
    return items;
  }

  /** Another dataset of this one's rows. Its recipe has this one's; without one it has none. */
  #derived<U>(recipe: (() => Recipe) | undefined, source: Partial<DatasetSource<U>>): Dataset<U> {
    return new Dataset({
      name: this.name,
      steps: this.#steps,
      skips: this.skips,
      textBecause: this.#source.textBecause,
      recipe: () => {
        const of = recipe && this.recipe;
        return of && { ...recipe(), of };
      },
      ...source,
    });
  }

  #indexed(what: string): number {
    if (this.length !== undefined) return this.length;
    throw new EspalierError("DATA_NOT_INDEXED", `${what}: the rows of ${this.name} have no numbers`, {
      fix: "read them into memory first: (await data.inMemory()), or use what streams have: map, filter, shuffle, take",
    });
  }
}

/** Options of {@link Dataset.split} and {@link Dataset.kFold}. */
export interface SplitOptions<T> {
  /** Default: 0. */
  readonly seed?: number | undefined;
  /** The class of a row, or the classes of all rows in order. */
  readonly stratify?: StratifyOption<T> | undefined;
}

/** Stands for a row that a filter leaves out. */
const leftOut = Symbol("left out");

/** The context of a row. Its stream is made where it is asked for. */
function contextOf(pass: Pass, index: number, step: number): ExampleContext {
  let random: Stream | undefined;
  return {
    index,
    epoch: pass.epoch,
    get random() {
      random ??= new Stream("example", rowKey(pass, index, step));
      return random;
    },
  };
}

/** Stands for the row's number in the key of an order: no row has it. */
const shuffling = 2 ** 53 - 1;

/** A reader that gives other rows than the one it reads from, whose bookmarks are its own unless it has others. */
const readerOf = <T, U>(
  reader: Reader<T>,
  next: Reader<U>["next"],
  bookmark = (): Bookmark => reader.bookmark(),
): Reader<U> => ({ next, bookmark, close: () => reader.close() });

/**
 * Rows one after the other from several datasets in turn: a row of the first, one of the second, ... A dataset that has
 * ended is left out.
 *
 * @example
 * ```ts
 * const both = interleave([jsonl("english.jsonl"), jsonl("french.jsonl")]);
 * ```
 */
export function interleave<T>(datasets: readonly Dataset<T>[]): Dataset<T> {
  const ok =
    Array.isArray(datasets) && datasets.length > 0 && datasets.every((one) => one instanceof Dataset);
  checkArgument(ok, "interleave", datasets, "a list of datasets");
  const name = datasets.map((one) => one.name).join(", ");
  return new Dataset({
    name,
    recipe: () => {
      const recipes = datasets.flatMap(({ recipe }) => recipe ?? []);
      return recipes.length === datasets.length ? { kind: "interleave", args: [recipes] } : undefined;
    },
    open: (pass, from) => {
      const bookmarks = within(from, "of") as readonly Bookmark[] | undefined;
      const ended = datasets.map((_, i) => (within(from, "ended") as readonly boolean[])?.[i] === true);
      const readers = datasets.map((one, i) => one.open(pass, ended[i] ? undefined : bookmarks?.[i]));
      let [rows, turn] = [count(name, from, "rows"), count(name, from, "turn")];
      return {
        next: async () => {
          while (ended.includes(false)) {
            const at = turn;
            turn = (turn + 1) % datasets.length;
            if (ended[at]) continue;
            const one = await outcome(readers[at] as Reader<T>);
            if (one) return itemAt(one, rows++);
            ended[at] = true;
          }
          return undefined;
        },
        bookmark: () => {
          const of = readers.map((reader, i) => (ended[i] ? null : reader.bookmark()));
          return { rows, turn, ended: [...ended], of };
        },
        close: async () => {
          for (const reader of readers) await reader.close();
        },
      };
    },
  });
}

/** Blocks of rows, each shuffled. The bookmark is that of the block's beginning, and how many of it were taken. */
function shuffledBlocks<T>(
  data: Dataset<T>,
  pass: Pass,
  key: Uint32Array,
  buffer: number,
  from: Bookmark | undefined,
): Reader<T> {
  const reader = data.open(pass, within(from, "of"));
  let start = reader.bookmark();
  let [block, taken] = [count(data.name, from, "block"), count(data.name, from, "taken")];
  let held: readonly Outcome<T>[] | undefined;
  const read = async (): Promise<readonly Outcome<T>[]> => {
    start = reader.bookmark();
    const rows = await outcomes(reader, buffer);
    return Array.from(shuffled(hostFoldIn(key, block), rows.length), (row) => rows[row] as Outcome<T>);
  };
  const next = async () => {
    held ??= await read();
    if (taken >= held.length && held.length === buffer) {
      block++;
      taken = 0;
      held = await read();
    }
    const one = held[taken];
    if (one) taken++;
    if (one instanceof EspalierError) throw one;
    return one;
  };
  return readerOf(reader, next, () => ({ of: start, block, taken }));
}

/** Has a reader pass over rows, and gives their number: fewer at the end. */
export async function passOver(
  reader: Pick<Reader<unknown>, "next" | "skip">,
  rows: number,
): Promise<number> {
  if (reader.skip) return reader.skip(rows);
  let passed = 0;
  while (passed < rows && (await reader.next())) passed++;
  return passed;
}

/** A row, or the error that stands for one. */
type Outcome<T> = Item<T> | EspalierError;

async function outcome<T>(reader: Reader<T>): Promise<Outcome<T> | undefined> {
  try {
    return await reader.next();
  } catch (error) {
    if (isRowError(error)) return error;
    throw error;
  }
}

/** A row under a number of its own; its error is thrown. */
function itemAt<T>(one: Outcome<T>, index: number): Item<T> {
  if (one instanceof EspalierError) throw one;
  return { value: one.value, index };
}

/** The next outcomes: fewer than `most` at the end. */
async function outcomes<T>(reader: Reader<T>, most: number): Promise<readonly Outcome<T>[]> {
  const rows: Outcome<T>[] = [];
  while (rows.length < most) {
    const one = await outcome(reader);
    if (!one) break;
    rows.push(one);
  }
  return rows;
}

async function* itemsOf<T>(data: Dataset<T>): AsyncGenerator<Item<T>, void, undefined> {
  const reader = data.open();
  try {
    for (let item = await reader.next(); item; item = await reader.next()) yield item;
  } finally {
    await reader.close();
  }
}

/** True for an error that stands for one row: the reader goes on behind it. */
export const isRowError = (error: unknown): error is EspalierError =>
  error instanceof EspalierError && error.code === "DATA_ROW_INVALID";

/** The number of rows that the error of a row stands for: more than one where a source reads them in groups. */
export const lostRows = ({ cause }: EspalierError): number =>
  (cause as { readonly lostRows?: number } | undefined)?.lostRows ?? 1;

/** The error of a row that cannot be read or turned into what it should be, with the source and the row's number. */
export const rowError = (name: string, row: number, cause: unknown): EspalierError => {
  const fix = 'correct the row, or leave it out: data.skipBad(), or onBadExample: "skip" of the loader';
  return named("DATA_ROW_INVALID", `${name}, row ${row}`, cause, fix);
};

/** The error of a source that cannot go on: a file that is gone, an iterable that throws. */
export const sourceError = (name: string, row: number | undefined, cause: unknown): EspalierError =>
  named("DATA_SOURCE_FAILED", row === undefined ? name : `${name}, at row ${row}`, cause, "see its cause");

/** Errors that name the row already, or are about no row. */
const passing = new Set([
  "DATA_ROW_INVALID",
  "DATA_SOURCE_FAILED",
  "DATA_EMPTY",
  "DATA_INDEX",
  "NODE_MISSING",
  "PACKAGE_MISSING",
]);

function named(code: string, where: string, cause: unknown, fix: string): EspalierError {
  const ours = cause instanceof EspalierError ? cause : undefined;
  if (ours && passing.has(ours.code)) return ours;
  const said = ours ? errorText(ours) : messageOf(cause);
  return new EspalierError(code, `${where}: ${said}`, { cause, fix: ours?.fix ?? fix });
}

export const emptyError = (name: string): EspalierError =>
  new EspalierError("DATA_EMPTY", `${name}: there are no rows`, { fix: "give at least one row" });

export function checkArgument(ok: boolean, kind: string, given: unknown, is: string): void {
  if (!ok) throw badOption(kind, `it was given ${shown(given)}`, `give ${is}`);
}

export const within = (from: Bookmark | undefined, part: string): Bookmark | undefined =>
  (from as Readonly<Record<string, Bookmark>> | null | undefined)?.[part];

/** A count in a bookmark; 0 without one. */
export function count(name: string, from: Bookmark | undefined, part: string): number {
  const number = from === undefined ? 0 : within(from, part);
  if (Number.isSafeInteger(number) && (number as number) >= 0) return number as number;
  throw new EspalierError("STATE_MISMATCH", `${name}: this is no bookmark of it: ${shown(from)}`, {
    fix: "open it from a bookmark that its own reader gave, with the same steps after the source",
  });
}
