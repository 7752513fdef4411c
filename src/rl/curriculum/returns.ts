import type { StateTree } from "../../state/index.ts";

/** When returns have stopped moving. */
export interface PlateauOptions {
  /** Judged by the newest results that together have at least so many episodes. Default 50. */
  readonly over?: number;
  /** And by at least so many results, however many episodes each of them has. Default 5. */
  readonly results?: number;
  /** The slope per episode, as a share of the mean size of a return, must be below this. Default 0.01. */
  readonly slope?: number;
  /** The standard deviation, as a share of the mean, must be below this. Default 0.1. */
  readonly variation?: number;
}

export type Plateau = Required<PlateauOptions>;

/** A lesson's newest results, oldest first: of so many episodes at least, if there have been so many. */
export class Returns {
  #episodes: number[] = [];
  #means: number[] = [];
  #total = 0;
  readonly #window: number;
  readonly #results: number;

  constructor(window: number, results: number) {
    this.#window = window;
    this.#results = results;
  }

  add(episodes: number, mean: number): void {
    this.#episodes.push(episodes);
    this.#means.push(mean);
    this.#total += episodes;
    while (
      this.#episodes.length > this.#results &&
      this.#total - (this.#episodes[0] as number) >= this.#window
    ) {
      this.#total -= this.#episodes.shift() as number;
      this.#means.shift();
    }
  }

  /** The mean return of all that is kept; undefined where nothing is. */
  get mean(): number | undefined {
    if (this.#total === 0) return undefined;
    return this.#means.reduce((sum, mean, i) => sum + mean * (this.#episodes[i] as number), 0) / this.#total;
  }

  /**
   * Whether |slope| / mean |r| and the coefficient of variation are below their bounds. Every episode counts with the
   * mean of its result; results of one episode each give the usual figures of a row of numbers.
   */
  isPlateau({ over, results, slope, variation }: Plateau): boolean {
    let from = this.#episodes.length;
    let n = 0;
    while (from > 0 && (n < over || this.#episodes.length - from < results))
      n += this.#episodes[--from] as number;
    if (n < over || this.#episodes.length - from < results) return false;
    const means = this.#means.slice(from);
    const sum = (of: (mean: number, episodes: number, i: number) => number): number =>
      means.reduce((all, mean, i) => all + of(mean, this.#episodes[from + i] as number, i), 0);
    const mean = sum((r, k) => r * k) / n;
    const size = sum((r, k) => Math.abs(r) * k) / n;
    // Nothing but zeros moves nowhere.
    if (size === 0) return true;
    const deviation = Math.sqrt(sum((r, k) => k * (r - mean) ** 2) / n);
    let begun = 0;
    const covariance = sum((r, k) => {
      const middle = begun + (k - 1) / 2;
      begun += k;
      return k * (r - mean) * (middle - (n - 1) / 2);
    });
    const steepness = (12 * covariance) / (n * (n * n - 1));
    return Math.abs(steepness) / size < slope && deviation / Math.abs(mean) < variation;
  }

  clear(): void {
    this.#episodes = [];
    this.#means = [];
    this.#total = 0;
  }

  getState(): StateTree {
    return { episodes: Float64Array.from(this.#episodes), means: Float64Array.from(this.#means) };
  }

  setState(state: StateTree): void {
    const { episodes, means } = state as { readonly episodes: Float64Array; readonly means: Float64Array };
    this.#episodes = [...episodes];
    this.#means = [...means];
    this.#total = this.#episodes.reduce((sum, n) => sum + n, 0);
  }
}
