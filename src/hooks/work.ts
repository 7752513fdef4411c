/** Asynchronous work that somebody waits for later. */
export class Work {
  #all: Promise<void> | undefined;

  /** When all that was added so far is done; undefined where nothing is under way. Never rejects. */
  get done(): Promise<void> | undefined {
    return this.#all;
  }

  /** Failures go to `failed`. What is no promise is done already. */
  add(work: unknown, failed: (cause: unknown) => void): void {
    if (!(work instanceof Promise)) return;
    const all: Promise<void> = Promise.all([this.#all, work.catch(failed)]).then(() => {
      if (this.#all === all) this.#all = undefined;
    });
    this.#all = all;
  }

  /** Waits until nothing is under way. */
  async settle(): Promise<void> {
    while (this.#all !== undefined) await this.#all;
  }
}
