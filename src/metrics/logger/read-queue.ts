import { type HostArray, read, Tensor } from "../../engine/index.ts";
import type { Counters } from "../../schedule/index.ts";
import type { HostValue, Series } from "./series.ts";

/** Values of one call of `log`. */
export interface PendingValues {
  readonly series: readonly Series[];
  readonly values: readonly (HostValue | Tensor)[];
  readonly at: Counters;
}

/** Stacked values of one call of `logRows`: the first axis of each is the row. */
export interface PendingRows {
  readonly series: readonly Series[];
  readonly values: readonly (Tensor | Float32Array)[];
  readonly at: (row: number) => Counters;
  readonly rows: number;
  /** The first row. */
  readonly from: number;
  /** Rows that are NaN are left out. */
  readonly nanIsNone: boolean;
}

export type Pending = PendingValues | PendingRows;

/** The numbers of a tensor, undefined where it could not be read. */
export type ReadTensor = (tensor: Tensor) => HostArray | undefined;

/** This many tensors are read at once, even where no window ends. */
const mostTensors = 4096;

/**
 * Keeps what was logged in order while some of it is still on the device. All tensors are read in one go; then
 * everything is accumulated as if the numbers had been there when they were logged.
 */
export class ReadQueue {
  #queue: (Pending | (() => void))[] = [];
  #tensors = 0;
  #draining: Promise<void> | undefined;
  readonly #accumulate: (pending: Pending, read: ReadTensor) => void;
  readonly #unreadable: (error: unknown) => void;

  constructor(
    accumulate: (pending: Pending, read: ReadTensor) => void,
    unreadable: (error: unknown) => void,
  ) {
    this.#accumulate = accumulate;
    this.#unreadable = unreadable;
  }

  get isEmpty(): boolean {
    return this.#queue.length === 0 && this.#draining === undefined;
  }

  get length(): number {
    return this.#queue.length;
  }

  add(pending: Pending, readNow: boolean): void {
    this.#queue.push(pending);
    for (const value of pending.values) if (value instanceof Tensor) this.#tensors++;
    if (readNow || this.#tensors >= mostTensors) void this.drain();
  }

  /** Does something when everything before it has been accumulated. */
  afterwards(work: () => void): Promise<void> {
    if (this.isEmpty) {
      work();
      return Promise.resolve();
    }
    this.#queue.push(work);
    return this.drain();
  }

  /** Reads and accumulates everything. Never rejects. */
  drain(): Promise<void> {
    if (this.isEmpty) return Promise.resolve();
    this.#draining ??= this.#drain().finally(() => {
      this.#draining = undefined;
    });
    return this.#draining;
  }

  async #drain(): Promise<void> {
    while (this.#queue.length > 0) {
      const batch = this.#queue;
      this.#queue = [];
      this.#tensors = 0;
      const found = await this.#read(batch);
      for (const each of batch)
        if (typeof each === "function") each();
        else this.#accumulate(each, (tensor) => found.get(tensor));
    }
  }

  async #read(batch: readonly (Pending | (() => void))[]): Promise<Map<Tensor, HostArray>> {
    const tensors = new Set<Tensor>();
    for (const each of batch)
      if (typeof each !== "function")
        for (const value of each.values) if (value instanceof Tensor) tensors.add(value);
    const all = [...tensors];
    const found = new Map<Tensor, HostArray>();
    try {
      for (const [i, array] of (await read(all)).entries()) found.set(all[i] as Tensor, array);
    } catch {
      // One that is gone must not take the others with it.
      for (const tensor of all)
        try {
          found.set(tensor, await tensor.read());
        } catch (error) {
          this.#unreadable(error);
        }
    }
    return found;
  }
}
