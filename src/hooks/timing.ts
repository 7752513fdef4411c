/** How long a hook's calls took, in milliseconds. */
export interface HookTiming {
  readonly hook: string;
  readonly count: number;
  readonly mean: number;
  /** To within a tenth. */
  readonly p99: number;
  readonly max: number;
  readonly total: number;
}

/** Buckets grow by a factor of 2^(1/8); the first ends at 2^-14 ms, the last holds everything above 2^18 ms. */
const perDoubling = 8;
const lowest = -14;
const buckets = perDoubling * 32;

/** Gathers durations in constant room. */
export class Stopwatch {
  #count = 0;
  #total = 0;
  #max = 0;
  readonly #histogram = new Uint32Array(buckets);

  add(milliseconds: number): void {
    this.#count++;
    this.#total += milliseconds;
    if (milliseconds > this.#max) this.#max = milliseconds;
    const bucket = milliseconds > 0 ? Math.ceil((Math.log2(milliseconds) - lowest) * perDoubling) : 0;
    const at = bucket < 0 ? 0 : bucket >= buckets ? buckets - 1 : bucket;
    this.#histogram[at] = (this.#histogram[at] as number) + 1;
  }

  read(hook: string): HookTiming {
    const count = this.#count;
    return {
      hook,
      count,
      mean: count === 0 ? 0 : this.#total / count,
      p99: this.#percentile(0.99),
      max: this.#max,
      total: this.#total,
    };
  }

  #percentile(share: number): number {
    const rank = Math.ceil(this.#count * share);
    let seen = 0;
    for (let at = 0; at < buckets; at++) {
      seen += this.#histogram[at] as number;
      // The last bucket has no end of its own.
      if (seen >= rank && seen > 0 && at < buckets - 1)
        return Math.min(this.#max, 2 ** (at / perDoubling + lowest));
    }
    return this.#max;
  }
}
