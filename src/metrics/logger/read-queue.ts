import { type HostArray, read, type Tensor } from "../../engine/index.ts";

/** The numbers of a tensor, undefined where it could not be read. */
export type ReadTensor = (tensor: Tensor) => HostArray | undefined;

/** Work that waits for tensors. */
interface Waiting {
  readonly tensors: readonly Tensor[];
  readonly work: (read: ReadTensor) => void;
}

/** This many tensors are read at once, even where no window ends. */
const mostTensors = 4096;

/**
 * Keeps what was logged in order while some of it is still on the device. All tensors are read in one go; then
 * everything is accumulated as if the numbers had been there when they were logged.
 */
export class ReadQueue {
  #queue: Waiting[] = [];
  #tensors = 0;
  #draining: Promise<void> | undefined;
  readonly #unreadable: (error: unknown) => void;

  constructor(unreadable: (error: unknown) => void) {
    this.#unreadable = unreadable;
  }

  get isEmpty(): boolean {
    return this.#queue.length === 0 && this.#draining === undefined;
  }

  get length(): number {
    return this.#queue.length;
  }

  /** Does work when these tensors have been read and everything before it has been done. */
  add(tensors: readonly Tensor[], work: Waiting["work"], readNow: boolean): void {
    this.#queue.push({ tensors, work });
    this.#tensors += tensors.length;
    if (readNow || this.#tensors >= mostTensors) void this.drain();
  }

  /** Does something when everything before it has been done. */
  afterwards(work: () => void): Promise<void> {
    if (this.isEmpty) {
      work();
      return Promise.resolve();
    }
    this.#queue.push({ tensors: [], work });
    return this.drain();
  }

  /** Reads everything and does all work. Never rejects. */
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
      for (const { work } of batch) work((tensor) => found.get(tensor));
    }
  }

  async #read(batch: readonly Waiting[]): Promise<Map<Tensor, HostArray>> {
    const all = [...new Set(batch.flatMap(({ tensors }) => tensors))];
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
