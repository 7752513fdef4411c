/** Names that somebody uses, counted. */
export class InUse {
  readonly #counts = new Map<string, number>();

  has(name: string): boolean {
    return (this.#counts.get(name) ?? 0) > 0;
  }

  /** Uses a name until the function that is returned is called. */
  use(name: string): () => void {
    const add = (count: number): void => {
      this.#counts.set(name, (this.#counts.get(name) ?? 0) + count);
    };
    add(1);
    let using = true;
    return () => {
      if (using) add(-1);
      using = false;
    };
  }
}
