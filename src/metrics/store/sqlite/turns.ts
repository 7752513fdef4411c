/** Lets users of one thing in one after the other, in the order in which they asked. */
export class Turns {
  readonly #waiting: (() => void)[] = [];
  #taken = false;

  get isTaken(): boolean {
    return this.#taken;
  }

  async take(): Promise<void> {
    if (this.#taken) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#taken = true;
  }

  giveBack(): void {
    const next = this.#waiting.shift();
    if (next) next();
    else this.#taken = false;
  }
}
