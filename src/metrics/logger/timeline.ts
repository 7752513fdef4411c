import { read, type Tensor } from "../../engine/index.ts";
import type { Counters } from "../../schedule/index.ts";
import type { Series } from "./series.ts";

/** Values that were logged and wait for the device: theirs or those logged before them. */
export interface Waiting {
  readonly series: readonly Series[];
  readonly values: readonly (number | string | ArrayLike<number> | Tensor)[];
  /** Where they belong; of stacked values, where each row does. */
  readonly at: Counters | ((row: number) => Counters);
  /** How many rows stacked values have. */
  readonly rows: number | undefined;
  /** The first of them. */
  readonly from?: number;
  /** Whether rows that are NaN are none. */
  readonly nanIsNone?: boolean;
}

/** A value as it was read, undefined where it could not be. */
export type Read = (tensor: Tensor) => ArrayLike<number> | undefined;

/** So many tensors are read at once, whether a window ends or not. */
const most = 4096;

/**
 * Keeps what was logged in order while some of it is still on the device. All of it is read in one go; then everything
 * happens as if the numbers had been there when they were logged.
 */
export class Timeline {
  #waiting: (Waiting | (() => void))[] = [];
  #tensors = 0;
  #draining: Promise<void> | undefined;
  readonly #take: (waiting: Waiting, read: Read) => void;
  readonly #lost: (error: unknown) => void;

  constructor(take: (waiting: Waiting, read: Read) => void, lost: (error: unknown) => void) {
    this.#take = take;
    this.#lost = lost;
  }

  /** Whether nothing waits. */
  get idle(): boolean {
    return this.#waiting.length === 0 && this.#draining === undefined;
  }

  /** How much waits. */
  get length(): number {
    return this.#waiting.length;
  }

  add(waiting: Waiting, tensors: number, readNow: boolean): void {
    this.#waiting.push(waiting);
    this.#tensors += tensors;
    if (readNow || this.#tensors >= most) void this.drain();
  }

  /** Has something done when everything before it has been taken. */
  afterwards(work: () => void): Promise<void> {
    if (this.idle) {
      work();
      return Promise.resolve();
    }
    this.#waiting.push(work);
    return this.drain();
  }

  /** Reads and takes everything that waits. Never rejects. */
  drain(): Promise<void> {
    if (this.idle) return Promise.resolve();
    this.#draining ??= this.#all().finally(() => {
      this.#draining = undefined;
    });
    return this.#draining;
  }

  async #all(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting;
      this.#waiting = [];
      this.#tensors = 0;
      const found = await this.#read(batch);
      for (const each of batch)
        if (typeof each === "function") each();
        else this.#take(each, (tensor) => found.get(tensor));
    }
  }

  async #read(batch: readonly (Waiting | (() => void))[]): Promise<Map<Tensor, ArrayLike<number>>> {
    const tensors = new Set<Tensor>();
    for (const each of batch)
      if (typeof each !== "function")
        for (const value of each.values) if (isTensor(value)) tensors.add(value);
    const all = [...tensors];
    const found = new Map<Tensor, ArrayLike<number>>();
    try {
      const arrays = (await read(all)) as readonly ArrayLike<number>[];
      for (const [i, tensor] of all.entries()) found.set(tensor, arrays[i] as ArrayLike<number>);
    } catch {
      // One that is gone must not take the others with it.
      for (const tensor of all)
        try {
          found.set(tensor, await tensor.read());
        } catch (error) {
          this.#lost(error);
        }
    }
    return found;
  }
}

export const isTensor = (value: Waiting["values"][number]): value is Tensor =>
  typeof value === "object" && "backend" in value;
