import { checkOptions, EspalierError, emitWarning, type OptionTable, option, shown } from "../core/index.ts";
import { hostRandom } from "../engine/index.ts";
import { Stream } from "../random/index.ts";
import type { StateTree } from "../state/index.ts";
import { type Example, type ExampleArrays, ExampleWriter } from "./example.ts";
import { shuffled } from "./loader.ts";
import { dealRows, type StratifyOption, shares, splitTable, stratifyBy } from "./split.ts";

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
  /** Where the next row begins. */
  bookmark(): Bookmark;
  close(): void | Promise<void>;
}

/** Plain values from which `datasetFromRecipe` makes a dataset again, in another thread. */
export interface Recipe {
  readonly kind: string;
  readonly [name: string]: StateTree;
}

/** The example that a function of `map` or `filter` is called for. */
export interface ExampleContext {
  /** The number of the row in its source. */
  readonly index: number;
  readonly epoch: number;
  /** Random numbers of this row in this epoch: the same ones in whatever order and thread rows are read. */
  readonly random: Stream;
}

/** A source of rows: `length` and `get`, or `open`, or all three. */
export interface DatasetSource<T> {
  /** The name for errors: "digits.csv". */
  readonly name: string;
  readonly length?: number | undefined;
  /** The row of a number. What is random about it follows from the key of the pass and the number. */
  readonly get?: (index: number, pass: Pass) => T | Promise<T>;
  /** Rows in order. Default: by `get`, with the number of the next row as bookmark. */
  readonly open?: (pass: Pass, from: Bookmark | undefined) => Reader<T>;
  /** For worker threads. Default: none; use `fromModule`. */
  readonly recipe?: Recipe | (() => Recipe | undefined) | undefined;
  /** The number of a row in its source, by its number here. Default: the same. */
  readonly rowOf?: (index: number, pass: Pass) => number;
  /** The number of random steps (map, filter, shuffle) it consists of, so that each draws numbers of its own. */
  readonly steps?: number;
}

/** Turns rows into examples, as `columns` does. */
export interface RowTransform<T> {
  readonly fitted: boolean;
  apply(row: T): Example;
  getState(): StateTree;
}

/** Options of {@link Dataset.shuffle}. */
export interface ShuffleOptions {
  /** For streams: rows that are held in memory, and shuffled among themselves. Default: 10,000. */
  readonly buffer?: number | undefined;
  /** Another order for the same pass. Default: 0. */
  readonly seed?: number | undefined;
}

const shuffleTable = {
  buffer: option.integer({ min: 1, default: 10_000 }),
  seed: option.integer({ default: 0 }),
} satisfies OptionTable<ShuffleOptions>;

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
  readonly #source: DatasetSource<T>;
  readonly #steps: number;

  constructor(source: DatasetSource<T>) {
    this.name = source.name;
    this.length = source.get ? source.length : undefined;
    this.#source = source;
    this.#steps = source.steps ?? 0;
    if (!source.open && (!source.get || source.length === undefined))
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

  /** A row by its number, from 0. Only where `length` is known. */
  get(index: number, pass: Pass = passOf(0)): T | Promise<T> {
    const length = this.#indexed("get");
    if (!Number.isSafeInteger(index) || index < 0 || index >= length)
      throw new EspalierError("DATA_INDEX", `${this.name}: there is no row ${shown(index)} of ${length}`, {
        fix: "give a whole number from 0 up to length",
      });
    try {
      const value = this.#source.get?.(index, pass) as T | Promise<T>;
      if (!(value instanceof Promise)) return value;
      return value.catch((cause: unknown) => {
        throw rowError(this.name, this.rowOf(index, pass), cause);
      });
    } catch (cause) {
      throw rowError(this.name, this.rowOf(index, pass), cause);
    }
  }

  /** Reads rows in order, from the first or from a bookmark. */
  open(pass: Pass = passOf(0), from?: Bookmark): Reader<T> {
    return this.#source.open?.(pass, from) ?? this.#inOrder(pass, from);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    const reader = this.open();
    try {
      for (let item = await reader.next(); item; item = await reader.next()) yield item.value;
    } finally {
      await reader.close();
    }
  }

  #inOrder(pass: Pass, from: Bookmark | undefined): Reader<T> {
    let row = from === undefined ? 0 : count(this.name, from, "row");
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

  /**
   * Each row turned into something else. `random` gives numbers for augmentation.
   *
   * @example
   * ```ts
   * images.map(({ x, y }, { random }) => ({ x: random.uniform() < 0.5 ? mirrored(x) : x, y }));
   * ```
   */
  map<U>(fn: (row: T, example: ExampleContext) => U | Promise<U>): Dataset<U> {
    return this.#mapped(fn, undefined);
  }

  /** Each row as the example that a fitted transform makes of it. Unlike `map`, worker threads can do it. */
  transform(transform: RowTransform<T>): Dataset<Example> {
    return this.#mapped(
      (row) => transform.apply(row),
      () => withRecipe(this, (of) => ({ kind: "transform", of, state: transform.getState() })),
    );
  }

  #mapped<U>(
    fn: (row: T, example: ExampleContext) => U | Promise<U>,
    recipe: (() => Recipe | undefined) | undefined,
  ): Dataset<U> {
    const step = this.#steps;
    const { length, name } = this;
    const apply = (row: T, index: number, pass: Pass) => fn(row, new Context(pass, index, step));
    if (length === undefined)
      return this.#stream({ name, recipe, steps: step + 1 }, (reader, pass) => async () => {
        const item = await reader.next();
        if (!item) return undefined;
        try {
          return { value: await apply(item.value, item.index, pass), index: item.index };
        } catch (cause) {
          throw rowError(name, item.index, cause);
        }
      });
    return new Dataset({
      name,
      length,
      recipe,
      steps: step + 1,
      rowOf: (index, pass) => this.rowOf(index, pass),
      get: (index, pass) => {
        const row = this.get(index, pass);
        const at = this.rowOf(index, pass);
        return row instanceof Promise ? row.then((value) => apply(value, at, pass)) : apply(row, at, pass);
      },
    });
  }

  /** The rows for which `keep` gives true: a stream, for their number is not known. */
  filter(keep: (row: T, example: ExampleContext) => boolean | Promise<boolean>): Dataset<T> {
    const step = this.#steps;
    return this.#stream({ name: this.name, steps: step + 1 }, (reader, pass) => async () => {
      for (let item = await reader.next(); item; item = await reader.next()) {
        try {
          if (await keep(item.value, new Context(pass, item.index, step))) return item;
        } catch (cause) {
          throw rowError(this.name, item.index, cause);
        }
      }
      return undefined;
    });
  }

  /**
   * The rows in an order of their own for each pass. Rows by number are shuffled all together. A stream is shuffled in
   * blocks of `buffer` rows, so that rows that are far apart stay so: shuffle such files when they are written.
   */
  shuffle(options: ShuffleOptions = {}): Dataset<T> {
    checkOptions("shuffle", options, shuffleTable);
    const { buffer = shuffleTable.buffer.default, seed = shuffleTable.seed.default } = options;
    const step = this.#steps;
    const { name, length } = this;
    const keyOf = (pass: Pass): Uint32Array => hostFoldIn(rowKey(pass, shuffling, step), seed >>> 0);
    const shared = {
      name,
      steps: step + 1,
      recipe: () => withRecipe(this, (of) => ({ kind: "shuffle", of, buffer, seed })),
    };
    if (length === undefined)
      return new Dataset({
        ...shared,
        open: (pass, from) =>
          shuffledBlocks(name, (bookmark) => this.open(pass, bookmark), keyOf(pass), buffer, from),
      });
    let last: { readonly pass: Pass; readonly order: Int32Array } | undefined;
    const place = (index: number, pass: Pass): number => {
      if (last?.pass !== pass) last = { pass, order: shuffled(keyOf(pass), length) };
      return last.order[index] as number;
    };
    return new Dataset({
      ...shared,
      length,
      get: (index, pass) => this.get(place(index, pass), pass),
      rowOf: (index, pass) => this.rowOf(place(index, pass), pass),
    });
  }

  /**
   * The rows that can be read: a stream without those that are an error, as of a corrupt image. A warning at the end
   * says how many they were.
   */
  skipBad(): Dataset<T> {
    const recipe = () => withRecipe(this, (of) => ({ kind: "skipBad", of }));
    return this.#stream({ name: this.name, recipe, steps: this.#steps }, (reader) => {
      let skipped = 0;
      let first = "";
      return async () => {
        for (;;) {
          const { item, error } = await outcome(reader);
          if (error) {
            first ||= error.message.split(" [")[0] ?? "";
            skipped++;
          } else {
            if (!item && skipped > 0)
              emitWarning(`${skipped} of its rows were left out; the first: ${first}`, "DATA_ROWS_SKIPPED");
            return item;
          }
        }
      };
    });
  }

  /** Lists of `size` rows, the last one maybe shorter. */
  batch(size: number): Dataset<readonly T[]> {
    checkOptions("batch", { size }, { size: option.integer({ min: 1, required: true }) });
    const { name, length } = this;
    const shared = {
      name,
      steps: this.#steps,
      recipe: () => withRecipe(this, (of) => ({ kind: "batch", of, size })),
    };
    if (length !== undefined)
      return new Dataset({
        ...shared,
        length: Math.ceil(length / size),
        get: (index, pass) =>
          Promise.all(
            Array.from({ length: Math.min(size, length - index * size) }, (_, i) =>
              this.get(index * size + i, pass),
            ),
          ),
      });
    return new Dataset({
      ...shared,
      open: (pass, from) => {
        const reader = this.open(pass, within(from, "of"));
        let batches = from === undefined ? 0 : count(name, from, "batches");
        return {
          next: async () => {
            const rows: T[] = [];
            let bad: unknown;
            for (let i = 0; i < size; i++) {
              const { item, error } = await outcome(reader);
              if (error) bad ??= error;
              else if (!item) break;
              else rows.push(item.value);
            }
            if (bad === undefined && rows.length === 0) return undefined;
            const index = batches++;
            if (bad !== undefined) throw bad;
            return { value: rows, index };
          },
          bookmark: () => ({ of: reader.bookmark(), batches }),
          close: () => reader.close(),
        };
      },
    });
  }

  /** The first `n` rows. */
  take(n: number): Dataset<T> {
    checkOptions("take", { n }, { n: option.integer({ min: 0, required: true }) });
    const { name, length } = this;
    const shared = {
      name,
      steps: this.#steps,
      recipe: () => withRecipe(this, (of) => ({ kind: "take", of, n })),
    };
    const open = (pass: Pass, from: Bookmark | undefined): Reader<T> => {
      const reader = this.open(pass, within(from, "of"));
      let taken = from === undefined ? 0 : count(name, from, "taken");
      return {
        next: async () => {
          if (taken >= n) return undefined;
          taken++;
          return reader.next();
        },
        bookmark: () => ({ of: reader.bookmark(), taken }),
        close: () => reader.close(),
      };
    };
    if (length === undefined) return new Dataset({ ...shared, open });
    return new Dataset({
      ...shared,
      open,
      length: Math.min(n, length),
      get: (index, pass) => this.get(index, pass),
      rowOf: (index, pass) => this.rowOf(index, pass),
    });
  }

  /** The rows of some numbers, in that order. */
  select(rows: ArrayLike<number>, name = this.name): Dataset<T> {
    const length = this.#indexed("select");
    const numbers = Int32Array.from(rows);
    const wrong = numbers.findIndex((row, i) => row !== rows[i] || row < 0 || row >= length);
    if (wrong >= 0)
      throw new EspalierError("DATA_INDEX", `select: ${this.name} has no row ${shown(rows[wrong])}`, {
        fix: `give whole numbers from 0 up to ${length}`,
      });
    return new Dataset({
      name,
      length: numbers.length,
      steps: this.#steps,
      recipe: () => withRecipe(this, (of) => ({ kind: "select", of, rows: numbers, name })),
      get: (index, pass) => this.get(numbers[index] as number, pass),
      rowOf: (index, pass) => this.rowOf(numbers[index] as number, pass),
    });
  }

  /** The rows of this, then those of another. */
  concat<U>(other: Dataset<U>): Dataset<T | U> {
    const shared = {
      name: this.name === other.name ? this.name : `${this.name} and ${other.name}`,
      steps: Math.max(this.#steps, other.#steps),
      recipe: () => withRecipe(this, (of) => withRecipe(other, (then) => ({ kind: "concat", of, then }))),
    };
    const { length } = this;
    if (length !== undefined && other.length !== undefined)
      return new Dataset<T | U>({
        ...shared,
        length: length + other.length,
        get: (index, pass) => (index < length ? this.get(index, pass) : other.get(index - length, pass)),
      });
    return new Dataset<T | U>({
      ...shared,
      open: (pass, from) => {
        const parts: readonly Dataset<T | U>[] = [this, other];
        let part = from === undefined ? 0 : count(shared.name, from, "part");
        let rows = from === undefined ? 0 : count(shared.name, from, "rows");
        let reader = (parts[part] ?? other).open(pass, within(from, "of"));
        return {
          next: async () => {
            for (;;) {
              const { item, error } = await outcome(reader);
              if (error || item) rows++;
              if (error) throw error;
              if (item) return { value: item.value, index: rows - 1 };
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
    const length = this.#indexed("split");
    checkOptions("split", options, splitTable);
    const names = Object.keys(parts);
    const dealt = dealRows(this.name, length, shares("split", parts), options.seed, this.#classes(options));
    const made = dealt.map((rows, i) => [names[i], this.select(rows, `${this.name} (${names[i]})`)]);
    return Object.fromEntries(made) as { readonly [Name in keyof P]: Dataset<T> };
  }

  /** `k` pairs of training and validation rows: each row is validated with once. */
  kFold(
    k: number,
    options: SplitOptions<T> = {},
  ): readonly { readonly train: Dataset<T>; readonly validation: Dataset<T> }[] {
    const length = this.#indexed("kFold");
    checkOptions(
      "kFold",
      { k, ...options },
      { ...splitTable, k: option.integer({ min: 2, required: true }) },
    );
    const equal = Array.from({ length: k }, () => 1 / k);
    const folds = dealRows(this.name, length, equal, options.seed, this.#classes(options));
    return folds.map((validation, fold) => ({
      train: this.select(
        folds
          .filter((_, i) => i !== fold)
          .flatMap((rows) => [...rows])
          .sort((a, b) => a - b),
        `${this.name} (fold ${fold}, train)`,
      ),
      validation: this.select(validation, `${this.name} (fold ${fold}, validation)`),
    }));
  }

  #classes({ stratify }: SplitOptions<T>): readonly (string | number)[] | undefined {
    if (stratify === undefined) return undefined;
    return stratifyBy(this.name, this.length as number, stratify, (index) => this.get(index));
  }

  /** All rows in memory, by number: for files that fit, so that they can be split and drawn in any order. */
  async inMemory(): Promise<Dataset<T>> {
    const rows: T[] = [];
    const numbers: number[] = [];
    for await (const { value, index } of itemsOf(this)) {
      rows.push(value);
      numbers.push(index);
    }
    if (rows.length === 0) throw emptyError(this.name);
    return new Dataset({
      name: this.name,
      length: rows.length,
      steps: this.#steps,
      recipe: () => withRecipe(this, (of) => ({ kind: "memory", of })),
      get: (index) => rows[index] as T,
      rowOf: (index) => numbers[index] as number,
    });
  }

  /** Examples as one typed array each, with its shape: for data that fits memory. */
  async toArrays(this: Dataset<Example>): Promise<ExampleArrays> {
    const items: Item<Example>[] = [];
    for await (const item of itemsOf(this)) items.push(item);
    const [first] = items;
    if (!first) throw emptyError(this.name);
    const writer = new ExampleWriter(this.name, first, items.length);
    items.forEach((item, i) => writer.write(i, item));
    return writer.arrays();
  }

  /** Another stream from this one's reader. Its bookmarks are those of this one's. */
  #stream<U>(
    source: Pick<DatasetSource<U>, "name" | "recipe" | "steps">,
    begin: (reader: Reader<T>, pass: Pass) => () => Promise<Item<U> | undefined>,
  ): Dataset<U> {
    return new Dataset({
      ...source,
      open: (pass, from) => {
        const reader = this.open(pass, from);
        return {
          next: begin(reader, pass),
          bookmark: () => reader.bookmark(),
          close: () => reader.close(),
        };
      },
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

class Context implements ExampleContext {
  readonly index: number;
  readonly #pass: Pass;
  readonly #step: number;
  #random: Stream | undefined;
  constructor(pass: Pass, index: number, step: number) {
    this.#pass = pass;
    this.index = index;
    this.#step = step;
  }
  get epoch(): number {
    return this.#pass.epoch;
  }
  get random(): Stream {
    this.#random ??= new Stream("example", rowKey(this.#pass, this.index, this.#step));
    return this.#random;
  }
}

/** Stands for the row's number in the key of an order: no row has it. */
const shuffling = 2 ** 53 - 1;

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
  const name = datasets.map((one) => one.name).join(", ");
  if (datasets.length === 0) throw emptyError("interleave");
  return new Dataset({
    name,
    recipe: () => {
      const parts = datasets.flatMap(({ recipe }) => (recipe ? [recipe] : []));
      return parts.length === datasets.length ? { kind: "interleave", parts } : undefined;
    },
    open: (pass, from) => {
      const bookmarks = within(from, "of") as readonly Bookmark[] | undefined;
      const ended = datasets.map((_, i) => (within(from, "ended") as readonly boolean[])?.[i] === true);
      const readers = datasets.map((one, i) => one.open(pass, ended[i] ? undefined : bookmarks?.[i]));
      let rows = from === undefined ? 0 : count(name, from, "rows");
      let turn = from === undefined ? 0 : count(name, from, "turn");
      return {
        next: async () => {
          while (ended.includes(false)) {
            const at = turn;
            turn = (turn + 1) % datasets.length;
            if (ended[at]) continue;
            const { item, error } = await outcome(readers[at] as Reader<T>);
            if (error || item) rows++;
            if (error) throw error;
            if (item) return { value: item.value, index: rows - 1 };
            ended[at] = true;
          }
          return undefined;
        },
        bookmark: () => ({
          rows,
          turn,
          ended: [...ended],
          of: readers.map((reader, i) => (ended[i] ? null : reader.bookmark())),
        }),
        close: async () => {
          for (const reader of readers) await reader.close();
        },
      };
    },
  });
}

/** Blocks of rows, each shuffled. The bookmark is that of the block's beginning, and how many of it were taken. */
function shuffledBlocks<T>(
  name: string,
  open: (from: Bookmark | undefined) => Reader<T>,
  key: Uint32Array,
  buffer: number,
  from: Bookmark | undefined,
): Reader<T> {
  const reader = open(within(from, "of"));
  let start = reader.bookmark();
  let block = from === undefined ? 0 : count(name, from, "block");
  let taken = from === undefined ? 0 : count(name, from, "taken");
  let held: readonly Outcome<T>[] | undefined;
  const read = async (): Promise<readonly Outcome<T>[]> => {
    start = reader.bookmark();
    const rows: Outcome<T>[] = [];
    while (rows.length < buffer) {
      const one = await outcome(reader);
      if (!one.item && !one.error) break;
      rows.push(one);
    }
    return Array.from(shuffled(hostFoldIn(key, block), rows.length), (row) => rows[row] as Outcome<T>);
  };
  return {
    next: async () => {
      held ??= await read();
      if (taken >= held.length && held.length === buffer) {
        block++;
        taken = 0;
        held = await read();
      }
      if (taken >= held.length) return undefined;
      const { item, error } = held[taken++] as Outcome<T>;
      if (error) throw error;
      return item;
    },
    bookmark: () => ({ of: start, block, taken }),
    close: () => reader.close(),
  };
}

/** What a reader gave: a row, the error that stands for one, or neither at the end. */
interface Outcome<T> {
  readonly item?: Item<T> | undefined;
  readonly error?: EspalierError;
}

async function outcome<T>(reader: Reader<T>): Promise<Outcome<T>> {
  try {
    return { item: await reader.next() };
  } catch (error) {
    if (isRowError(error)) return { error };
    throw error;
  }
}

/** All rows with their numbers. */
async function* itemsOf<T>(data: Dataset<T>): AsyncGenerator<Item<T>, void, undefined> {
  const reader = data.open();
  try {
    for (let item = await reader.next(); item; item = await reader.next()) yield item;
  } finally {
    await reader.close();
  }
}

function withRecipe(
  of: { readonly recipe: Recipe | undefined },
  make: (recipe: Recipe) => Recipe | undefined,
): Recipe | undefined {
  const { recipe } = of;
  return recipe && make(recipe);
}

/** True for an error that stands for one row: the reader goes on behind it. */
export const isRowError = (error: unknown): error is EspalierError =>
  error instanceof EspalierError && error.code === "DATA_ROW_INVALID";

/** The error of a row that cannot be read or turned into what it should be, with the source and the row's number. */
export function rowError(name: string, row: number, cause: unknown): EspalierError {
  if (cause instanceof EspalierError && passing.has(cause.code)) return cause;
  const said = cause instanceof Error ? cause.message : String(cause);
  const [message] = cause instanceof EspalierError ? said.split(` [${cause.code}]`) : [said];
  const fix = cause instanceof EspalierError ? cause.fix : undefined;
  return new EspalierError("DATA_ROW_INVALID", `${name}, row ${row}: ${message}`, {
    cause,
    fix: fix ?? 'correct the row, leave it out with filter, or let the loader skip it: onBadExample: "skip"',
  });
}

/** Errors that name the row already, or are about no row. */
const passing = new Set(["DATA_ROW_INVALID", "DATA_SOURCE_FAILED", "NODE_MISSING", "DATA_INDEX"]);

/** The error of a source that cannot go on: a file that is gone, an iterable that throws. */
export function sourceError(name: string, row: number | undefined, cause: unknown): EspalierError {
  if (cause instanceof EspalierError && passing.has(cause.code)) return cause;
  const said = cause instanceof Error ? cause.message : String(cause);
  const [message] = cause instanceof EspalierError ? said.split(` [${cause.code}]`) : [said];
  const where = row === undefined ? name : `${name}, at row ${row}`;
  return new EspalierError("DATA_SOURCE_FAILED", `${where}: ${message}`, {
    cause,
    fix: (cause instanceof EspalierError ? cause.fix : undefined) ?? "see its cause",
  });
}

export const emptyError = (name: string): EspalierError =>
  new EspalierError("DATA_EMPTY", `${name}: there are no rows`, { fix: "give at least one row" });

/** A part of a bookmark. */
export function within(from: Bookmark | undefined, part: string): Bookmark | undefined {
  if (from === undefined) return undefined;
  return (from as Readonly<Record<string, Bookmark>> | null)?.[part];
}

/** A whole number of a bookmark. */
export function count(name: string, from: Bookmark, part: string): number {
  const number = within(from, part);
  if (Number.isSafeInteger(number) && (number as number) >= 0) return number as number;
  throw new EspalierError("STATE_MISMATCH", `${name}: this is no bookmark of it: ${shown(from)}`, {
    fix: "open it from a bookmark that its own reader gave, with the same steps after the source",
  });
}
