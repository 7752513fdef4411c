import { piece } from "./thread.ts";

/** Memory that is shared with file threads, so much and no more: what comes back is lent again. */
export class BlockStock {
  readonly #free: Uint8Array[] = [];
  readonly #lent = new Map<ArrayBufferLike, Uint8Array>();
  readonly #waiting: { resolve(block: Uint8Array): void; reject(error: unknown): void }[] = [];
  #left: number;

  constructor(blocks: number) {
    this.#left = blocks;
  }

  lend(): Promise<Uint8Array> {
    const block = this.#free.pop() ?? this.#make();
    if (!block) return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }));
    this.#lent.set(block.buffer, block);
    return Promise.resolve(block);
  }

  #make(): Uint8Array | undefined {
    if (this.#left === 0) return undefined;
    this.#left--;
    return new Uint8Array(new SharedArrayBuffer(piece));
  }

  /** Memory that was not lent here is nobody's business. */
  takeBack(memory: ArrayBufferLike): void {
    const block = this.#lent.get(memory);
    if (!block) return;
    const next = this.#waiting.shift();
    if (next) next.resolve(block);
    else {
      this.#lent.delete(memory);
      this.#free.push(block);
    }
  }

  /** Tells whoever waits that nothing comes back any more. */
  fail(error: unknown): void {
    for (const { reject } of this.#waiting.splice(0)) reject(error);
  }
}
