/** Memory that is shared with file threads, so much and no more: what comes back is lent again. */
export class BlockStock {
  readonly #make: () => Promise<Uint8Array>;
  readonly #free: Uint8Array[] = [];
  readonly #lent = new Map<ArrayBufferLike, Uint8Array>();
  readonly #waiting: { resolve(block: Uint8Array): void; reject(error: unknown): void }[] = [];
  #made = 0;
  readonly #most: number;

  constructor(blocks: number, make: () => Promise<Uint8Array>) {
    this.#most = blocks;
    this.#make = make;
  }

  lend(): Promise<Uint8Array> {
    const block = this.#free.pop();
    if (block) {
      this.#lent.set(block.buffer, block);
      return Promise.resolve(block);
    }
    // As many again as there are: soon there are enough, and a small file makes few.
    if (this.#waiting.length === 0)
      for (let more = Math.min(Math.max(1, this.#made), this.#most - this.#made); more > 0; more--) {
        this.#made++;
        this.#make().then(
          (made) => this.#give(made),
          (error) => this.fail(error),
        );
      }
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }));
  }

  #give(block: Uint8Array): void {
    const next = this.#waiting.shift();
    if (next) {
      this.#lent.set(block.buffer, block);
      next.resolve(block);
    } else this.#free.push(block);
  }

  /** Memory that was not lent here is nobody's business. */
  takeBack(memory: ArrayBufferLike): void {
    const block = this.#lent.get(memory);
    if (!block) return;
    this.#lent.delete(memory);
    this.#give(block);
  }

  /** Tells whoever waits that nothing comes back any more. */
  fail(error: unknown): void {
    for (const { reject } of this.#waiting.splice(0)) reject(error);
  }
}
