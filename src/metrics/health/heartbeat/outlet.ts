/**
 * Hands on the newest of what it is given, one at a time: what comes while one is under way takes the place of what
 * waited before. A failure is told once and then forgotten.
 */
export class NewestOutlet<T> {
  readonly #write: (item: T) => unknown;
  readonly #failed: (cause: unknown) => void;
  #waiting: { readonly item: T } | undefined;
  #writing: Promise<void> | undefined;
  #told = false;

  constructor(write: (item: T) => unknown, failed: (cause: unknown) => void) {
    this.#write = write;
    this.#failed = failed;
  }

  /** Resolves when nothing is left to hand on. Never rejects. */
  put(item: T): Promise<void> {
    this.#waiting = { item };
    this.#writing ??= this.#drain();
    return this.#writing;
  }

  get idle(): Promise<void> {
    return this.#writing ?? Promise.resolve();
  }

  async #drain(): Promise<void> {
    for (let next = this.#waiting; next; next = this.#waiting) {
      this.#waiting = undefined;
      try {
        await this.#write(next.item);
      } catch (cause) {
        if (!this.#told) this.#failed(cause);
        this.#told = true;
      }
    }
    // In the same turn in which nothing was found waiting, so that nothing is left behind.
    this.#writing = undefined;
  }
}
