import { EspalierError } from "../../core/index.ts";
import { hostRandom } from "../../engine/index.ts";

/** Random numbers of an environment. They take some nanoseconds each. */
export interface EnvironmentRandom {
  /** A number from `low` up to `high`. Default: 0 and 1. */
  uniform(low?: number, high?: number): number;
  /** A whole number from 0 up to `n`. */
  integer(n: number): number;
  /** A normally distributed number. Default: mean 0 and deviation 1. */
  normal(mean?: number, deviation?: number): number;
  /** One of a list. */
  pick<T>(list: readonly T[]): T;
  /** The numbers from 0 up to `n` in random order. */
  permutation(n: number): number[];
}

/**
 * The generator behind {@link EnvironmentRandom}: xoshiro128++, four words of state, seeded by a hash of the seed. A hash
 * for each number, as random streams compute it, would cost more than a step of a small environment.
 *
 * @example
 * ```ts
 * const random = new SeededRandom(7);
 * const angle = random.uniform(-0.05, 0.05);
 * ```
 */
export class SeededRandom implements EnvironmentRandom {
  readonly #words = new Uint32Array(4);

  constructor(seed: number) {
    this.seed(seed);
  }

  /** Starts from a seed. */
  seed(seed: number): void {
    this.#words.set(hostRandom.hostBits(hostRandom.hostKey(seed), 4));
    // All zeros is the one state that repeats itself.
    if (this.#words.every((word) => word === 0)) this.#words[0] = 1;
  }

  getState(): Uint32Array {
    return this.#words.slice();
  }

  setState(words: unknown): void {
    if (!(words instanceof Uint32Array) || words.length !== 4)
      throw new EspalierError("STATE_INVALID", "this is not a state of random numbers", {
        fix: "pass what getState() gave: four words in a Uint32Array",
      });
    this.#words.set(words);
  }

  /** 32 random bits. */
  bits(): number {
    const words = this.#words;
    const a = words[0] as number;
    const b = words[1] as number;
    const d = words[3] as number;
    const sum = (a + d) | 0;
    const e = (words[2] as number) ^ a;
    const f = d ^ b;
    words[0] = a ^ f;
    words[1] = b ^ e;
    words[2] = e ^ (b << 9);
    words[3] = (f << 11) | (f >>> 21);
    return (((sum << 7) | (sum >>> 25)) + a) >>> 0;
  }

  uniform(low = 0, high = 1): number {
    // 53 bits, as many as a number holds.
    const above = this.bits() >>> 5;
    const unit = (above * 2 ** 26 + (this.bits() >>> 6)) * 2 ** -53;
    return low + (high - low) * unit;
  }

  integer(n: number): number {
    if (!Number.isInteger(n) || n < 1 || n > 2 ** 32)
      throw new EspalierError("ARGUMENT_INVALID", `integer: there is no whole number from 0 up to ${n}`, {
        fix: "give a whole number from 1 to 2^32",
      });
    return Math.floor(this.uniform() * n);
  }

  normal(mean = 0, deviation = 1): number {
    const far = Math.sqrt(-2 * Math.log(1 - this.uniform()));
    return mean + deviation * far * Math.cos(2 * Math.PI * this.uniform());
  }

  pick<T>(list: readonly T[]): T {
    return list[this.integer(list.length)] as T;
  }

  permutation(n: number): number[] {
    const order = Array.from({ length: n }, (_, i) => i);
    for (let i = n - 1; i > 0; i--) {
      const j = this.integer(i + 1);
      [order[i], order[j]] = [order[j] as number, order[i] as number];
    }
    return order;
  }
}
