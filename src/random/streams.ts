import { EspalierError, nameWords, shown } from "../core/index.ts";
import { hostRandom } from "../engine/index.ts";
import type { Stateful, StateTree } from "../state/index.ts";

const { hostBits, hostFoldIn, hostKey, hostPermutation, hostUniform } = hostRandom;

/**
 * One named stream of random numbers. Every call draws the next key of the stream and nothing else, so what is drawn
 * depends on the seed, the stream's name and how often it was drawn from.
 */
export class Stream {
  readonly name: string;
  #root: Uint32Array;
  #drawn = 0;

  constructor(name: string, root: Uint32Array) {
    this.name = name;
    this.#root = root;
  }

  /** Goes to another place, maybe of another seed. For {@link RandomStreams}. */
  moveTo(root: Uint32Array, drawn: number): void {
    this.#root = root;
    this.#drawn = drawn;
  }

  /** Number of draws so far. */
  get drawn(): number {
    return this.#drawn;
  }

  /** A new key (u32[2]) to hand to compiled functions that use `random`. */
  key(): Uint32Array {
    // Two words, so that a stream never comes round.
    const low = hostFoldIn(this.#root, this.#drawn % 2 ** 32);
    const key = hostFoldIn(low, Math.floor(this.#drawn / 2 ** 32));
    this.#drawn++;
    return key;
  }

  /** A 32-bit seed for something outside. */
  seed(): number {
    return hostBits(this.key(), 1)[0] as number;
  }

  /** A number from 0 up to 1. */
  uniform(): number {
    return hostUniform(this.key(), 1)[0] as number;
  }

  /** A whole number from 0 up to `n`. */
  integer(n: number): number {
    if (!Number.isInteger(n) || n <= 0 || n > 2 ** 32)
      throw new EspalierError("ARGUMENT_INVALID", `integer: there is no whole number from 0 up to ${n}`, {
        fix: "give a whole number from 1 to 2^32",
      });
    const [low, high] = hostBits(this.key(), 2);
    return Number(((BigInt(high as number) << 32n) | BigInt(low as number)) % BigInt(n));
  }

  /** The numbers from 0 up to `n` in random order. */
  permutation(n: number): Uint32Array {
    return hostPermutation(this.key(), n);
  }
}

/**
 * Named random streams split from one seed. Drawing from one never moves another, so adding a part that draws
 * numbers changes nothing elsewhere.
 *
 * @example
 * ```ts
 * const streams = new RandomStreams(42);
 * const order = streams.get("data").permutation(1000);
 * const params = init(streams.get("params").key());
 * ```
 */
export class RandomStreams implements Stateful {
  #seed: number;
  readonly #streams = new Map<string, Stream>();

  constructor(seed: number) {
    hostKey(seed);
    this.#seed = seed;
  }

  get seed(): number {
    return this.#seed;
  }

  /** The stream of this name: always the same one. */
  get(name: string): Stream {
    const known = this.#streams.get(name);
    if (known) return known;
    if (typeof name !== "string")
      throw new EspalierError("ARGUMENT_INVALID", `the name of a random stream is ${shown(name)}`, {
        fix: 'give a text: streams.get("data")',
      });
    const stream = new Stream(name, this.#root(name));
    this.#streams.set(name, stream);
    return stream;
  }

  #root(name: string): Uint32Array {
    const [first, second] = nameWords(name);
    return hostFoldIn(hostFoldIn(hostKey(this.#seed), first), second);
  }

  getState(): StateTree {
    const drawn = [...this.#streams.values()].map((stream) => [stream.name, stream.drawn] as const);
    return { seed: this.#seed, drawn: Object.fromEntries(drawn.sort(([a], [b]) => (a < b ? -1 : 1))) };
  }

  /** Goes to a state; streams handed out before go with it. */
  setState(state: StateTree): void {
    const { seed, drawn } = (state ?? {}) as {
      readonly seed: number;
      readonly drawn: Readonly<Record<string, number>>;
    };
    if (typeof seed !== "number" || typeof drawn !== "object" || drawn === null)
      throw new EspalierError("STATE_INVALID", "this is not a state of random streams", {
        fix: "pass what getState() gave: { seed, drawn }",
      });
    this.#seed = seed;
    for (const name of Object.keys(drawn)) this.get(name);
    for (const [name, stream] of this.#streams) stream.moveTo(this.#root(name), drawn[name] ?? 0);
  }
}
