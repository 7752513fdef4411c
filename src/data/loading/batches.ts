import { EspalierError } from "../../core/index.ts";
import {
  type Bookmark,
  type Dataset,
  type Item,
  isRowError,
  lostRows,
  type Pass,
  passOver,
  type Reader,
} from "../dataset.ts";
import {
  type BatchMemory,
  type Example,
  type ExampleArrays,
  ExampleWriter,
  exampleLayout,
  type LeafLayout,
} from "../example.ts";

import type { Rank } from "../loader.ts";

/** A batch that is wanted: rows by number, or the next ones of a stream. */
export type BatchRequest = RowsRequest | NextRequest;

interface RowsRequest {
  readonly pass: Pass;
  readonly rows: Int32Array;
}

interface NextRequest {
  readonly pass: Pass;
  /** The stream is opened for this pass first: from its start, or from a bookmark. */
  readonly open?: { readonly from: Bookmark | undefined };
  /** Batches before it that other threads make. */
  readonly before: number;
  /** Examples in the batch. */
  readonly size: number;
  /** Takes every `count`-th example, from `index` on. */
  readonly rank: Rank;
  /** Gives a smaller batch at the stream's end. */
  readonly keepRest: boolean;
}

/** A batch: one typed array with its shape for each part of the examples. */
export interface LoadedBatch extends ExampleArrays {
  /** The examples' numbers in the source: of the file, for a part that `split` made. */
  readonly rows: Int32Array;
}

export interface MadeBatch {
  readonly batch: LoadedBatch;
  /** Examples that could not be used. */
  readonly skipped: number;
  /** The memory of its arrays, where used memory was given: nobody else has it. */
  readonly memory?: readonly ArrayBuffer[];
  /** The reader's position after it, of a stream. */
  readonly bookmark?: Bookmark;
}

export interface StreamEnd {
  /** Examples that were too few for a batch. */
  readonly leftOver: number;
  readonly skipped: number;
}

export type Made = MadeBatch | StreamEnd;

export const isEnd = (made: Made): made is StreamEnd => "leftOver" in made;

/** Bad rows before the first good one. */
const hopeless = 1000;

/**
 * Makes batches of a dataset, one request after the other: on the main thread, or on a worker thread.
 *
 * ```
 * rows:  all at once, data.gather(rows), where the source can; else
 *        example = data.get(row, pass)  for each row    all are asked for at once
 * next:  example = reader.next()        one after the other
 * each:  written into the batch's arrays                example.ts
 * ```
 *
 * With `skip`, an example that cannot be read or does not fit is left out and counted. Among numbered rows the next good
 * one of the same batch stands in its place, so that batches keep their sizes and none depends on another; a stream
 * goes on to its next row.
 */
export class BatchMaker {
  readonly #data: Dataset<Example>;
  readonly #skip: boolean;
  #layout: readonly LeafLayout[] | undefined;
  #reader: Reader<Example> | undefined;

  constructor(data: Dataset<Example>, skip: boolean) {
    this.#data = data;
    this.#skip = skip;
  }

  /** The batch, in memory of used ones where there is some: at once where the source has its rows in memory. */
  make(request: BatchRequest, used?: readonly ArrayBuffer[]): Made | Promise<Made> {
    if (!used) return this.#make(request);
    const left = [...used];
    const memory: ArrayBuffer[] = [];
    const give: BatchMemory = (bytes) => {
      const at = left.findIndex(({ byteLength }) => byteLength >= bytes);
      const [piece = new ArrayBuffer(bytes)] = at < 0 ? [] : left.splice(at, 1);
      memory.push(piece);
      return piece;
    };
    const kept = (made: Made): Made => (isEnd(made) ? made : { ...made, memory });
    const made = this.#make(request, give);
    return made instanceof Promise ? made.then(kept) : kept(made);
  }

  #make(request: BatchRequest, memory?: BatchMemory): Made | Promise<Made> {
    if (!("rows" in request)) return this.#next(request, memory);
    const arrays = this.#data.gather(request.rows, request.pass, memory);
    return arrays instanceof Promise
      ? arrays.then((found) => this.#gathered(request, found, memory))
      : this.#gathered(request, arrays, memory);
  }

  #gathered(
    request: RowsRequest,
    arrays: ExampleArrays | undefined,
    memory?: BatchMemory,
  ): Made | Promise<Made> {
    if (!arrays) return this.#rows(request, memory);
    return { batch: loaded(arrays, this.#data.rowsOf(request.rows, request.pass)), skipped: 0 };
  }

  async close(): Promise<void> {
    const reader = this.#reader;
    this.#reader = undefined;
    await reader?.close();
  }

  async #rows({ pass, rows }: RowsRequest, memory?: BatchMemory): Promise<MadeBatch> {
    this.#layout ??= await this.#learn();
    const asked = await Promise.allSettled(Array.from(rows, async (row) => this.#data.get(row, pass)));
    const writer = new ExampleWriter(this.#data.name, this.#layout, rows.length, memory);
    let [skipped, error]: [number, unknown] = [0, undefined];
    const good = asked.map((one, i): Item<Example> | undefined => {
      try {
        if (one.status === "rejected") throw one.reason;
        const item = { value: one.value, index: this.#data.rowOf(rows[i] as number, pass) };
        writer.write(i, item);
        return item;
      } catch (cause) {
        if (!this.#passes(cause)) throw cause;
        error ??= cause;
        skipped++;
        return undefined;
      }
    });
    if (skipped > 0 && skipped === rows.length) throw error;
    const items = good.map((one, i) => {
      let other = i;
      while (!good[other]) other = (other + 1) % rows.length;
      if (!one) writer.write(i, good[other] as Item<Example>);
      return good[other] as Item<Example>;
    });
    return { batch: loaded(writer.arrays(), rowsOf(items)), skipped };
  }

  /** The arrays of examples, by the first row: all threads have to agree. */
  async #learn(): Promise<readonly LeafLayout[]> {
    const { name, length = 0 } = this.#data;
    for (let row = 0; ; row++) {
      try {
        const value = await this.#data.get(row);
        return exampleLayout(name, { value, index: this.#data.rowOf(row) });
      } catch (cause) {
        if (!this.#passes(cause) || row + 1 >= Math.min(length, hopeless)) throw cause;
      }
    }
  }

  async #next(
    { pass, open, before, size, rank, keepRest }: NextRequest,
    memory?: BatchMemory,
  ): Promise<Made> {
    if (open) {
      await this.close();
      this.#reader = this.#data.open(pass, open.from);
    }
    const reader = this.#reader;
    if (!reader) return { leftOver: 0, skipped: 0 };
    // A round of all ranks, so that all of them have as many batches.
    const round = size * rank.count;
    if (!(await this.#pass(reader, before * round))) {
      await this.close();
      return { leftOver: 0, skipped: 0 };
    }
    const { items: all, skipped } = await this.#read(reader, round);
    const read = all.length;
    const bookmark = reader.bookmark();
    if (read < round) await this.close();
    const count = Math.floor(read / rank.count);
    if (read < round && !(keepRest && count > 0)) return { leftOver: read, skipped };
    const items = all.filter((_, i) => i % rank.count === rank.index).slice(0, count);
    const writer = new ExampleWriter(this.#data.name, this.#layout ?? [], count, memory);
    items.forEach((item, i) => {
      writer.write(i, item);
    });
    return { batch: loaded(writer.arrays(), rowsOf(items)), skipped, bookmark };
  }

  /**
   * Passes over rows of a stream; false at its end. All threads have to agree: the first example says what all are like,
   * and what is skipped shows where rows are looked at.
   */
  async #pass(reader: Reader<Example>, rows: number): Promise<boolean> {
    const seen = this.#skip ? rows : this.#layout ? 0 : Math.min(rows, 1);
    const { items } = await this.#read(reader, seen);
    return items.length === seen && (await passOver(reader, rows - seen)) === rows - seen;
  }

  /** The next examples of a stream: fewer at its end. */
  async #read(
    reader: Reader<Example>,
    rows: number,
  ): Promise<{ readonly items: readonly Item<Example>[]; readonly skipped: number }> {
    const items: Item<Example>[] = [];
    let [bad, skipped] = [0, 0];
    while (items.length < rows) {
      try {
        const item = await reader.next();
        if (item === undefined) break;
        this.#layout ??= exampleLayout(this.#data.name, item);
        // Each is looked at by all ranks and threads: they have to agree on what is skipped.
        if (this.#skip) new ExampleWriter(this.#data.name, this.#layout, 1).write(0, item);
        items.push(item);
      } catch (cause) {
        if (!this.#passes(cause) || ++bad === hopeless + items.length) throw cause;
        skipped += lostRows(cause);
      }
    }
    return { items, skipped };
  }

  /** The error is about one example, which may be skipped. */
  #passes(cause: unknown): cause is EspalierError {
    return this.#skip && (isRowError(cause) || (cause instanceof EspalierError && unusable.has(cause.code)));
  }
}

const rowsOf = (items: readonly Item<Example>[]): Int32Array => Int32Array.from(items, ({ index }) => index);

/** Arrays and their rows. By a spread, a small batch would take a tenth longer. */
function loaded({ x, y, weight }: ExampleArrays, rows: Int32Array): LoadedBatch {
  const batch: { -readonly [Name in keyof LoadedBatch]: LoadedBatch[Name] } = { x, rows };
  if (y) batch.y = y;
  if (weight) batch.weight = weight;
  return batch;
}

/** Examples that can be read, and do not fit. */
const unusable = new Set(["DATA_INVALID", "DATA_RAGGED", "DATA_NOT_FINITE"]);
