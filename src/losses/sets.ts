import { didYouMean, EspalierError } from "../core/index.ts";

/** The sets of losses there are: each one list of names, in the order of terms. */
export class Sets {
  readonly #all: readonly string[];
  readonly #most: number;
  readonly #lists = new Map<string, readonly string[]>();
  readonly #known = new Set<readonly string[]>();
  readonly #made = new Set<readonly string[]>();

  /** `most`: for how many sets something may be made. */
  constructor(all: readonly string[], most: number) {
    this.#all = all;
    this.#most = most;
  }

  /** The sets for which something was made. */
  get made(): readonly (readonly string[])[] {
    return [...this.#made];
  }

  /** The set of these names: the same list each time, however they are written. */
  of(names: readonly string[]): readonly string[] {
    if (this.#known.has(names)) return names;
    const unknown = names.find((name) => !this.#all.includes(name));
    if (unknown !== undefined)
      throw new EspalierError(
        "LOSS_UNKNOWN",
        `there is no loss "${unknown}"${didYouMean(unknown, this.#all)}`,
        {
          fix: `the losses are ${this.#all.join(", ")}`,
        },
      );
    const ordered = this.#all.filter((name) => names.includes(name));
    const id = JSON.stringify(ordered);
    const list = this.#lists.get(id) ?? ordered;
    this.#lists.set(id, list);
    this.#known.add(list);
    return list;
  }

  /** Keeps what `make` gives for each set, so that coming back to one makes nothing. */
  keep<T>(make: (names: readonly string[]) => T): (names: readonly string[]) => T {
    const made = new Map<readonly string[], { readonly thing: T }>();
    return (names) => {
      const set = this.of(names);
      const known = made.get(set);
      if (known) return known.thing;
      this.#admit(set);
      const thing = make(set);
      made.set(set, { thing });
      this.#made.add(set);
      return thing;
    };
  }

  #admit(set: readonly string[]): void {
    if (this.#made.has(set) || this.#made.size < this.#most) return;
    throw new EspalierError(
      "LOSS_SETS_TOO_MANY",
      `the losses ${shown(set)} are one more set than the ${this.#most} compiled already: ${this.made
        .map(shown)
        .join(", ")}`,
      {
        fix: "let losses share schedules, keep one active and take its weight to 0 by a ramp, or raise maxSets",
      },
    );
  }
}

const shown = (names: readonly string[]): string =>
  names.length === 0 ? "(none)" : `(${names.join(" + ")})`;
