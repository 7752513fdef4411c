import { shown } from "../../core/index.ts";
import { userError } from "../trace/location.ts";
import { threefryInto } from "./hash.ts";
import { checkCount, dataWord, type Many, seedWords, shuffleRounds } from "./key.ts";

/**
 * Threefry-2x32 with 20 rounds, for the host: two words from a key and a count of two words each.
 *
 * @example
 * ```ts
 * threefry2x32(0, 0, 0, 0); // [1797259609, 2579123966]
 * ```
 */
export function threefry2x32(k0: number, k1: number, c0: number, c1: number): [x0: number, x1: number] {
  const out = new Uint32Array(2);
  threefryInto(k0, k1, c0, c1, out, 0);
  return [out[0] as number, out[1] as number];
}

/**
 * A key for the host, and for `random` inside compiled functions: the same one `random.key(seed)` gives there.
 *
 * @example
 * ```ts
 * const [forWeights, forBatches] = hostSplit(hostKey(42));
 * ```
 */
export const hostKey = (seed: number): Uint32Array => Uint32Array.of(...seedWords(seed));

function wordsOf(key: ArrayLike<number>): [k0: number, k1: number] {
  if (typeof key !== "object" || key?.length !== 2)
    throw userError(
      "KEY_INVALID",
      `a key is two 32-bit words, and this ${key?.length === undefined ? `is ${shown(key)}` : `has ${key.length}`}`,
      "make keys with hostKey(seed) and hostSplit(key)",
    );
  return [key[0] as number, key[1] as number];
}

/**
 * Splits a key into new ones (default: two), as `random.split` gives them.
 *
 * @example
 * ```ts
 * const [a, b, c] = hostSplit(key, 3);
 * ```
 */
export function hostSplit<const N extends number = 2>(key: ArrayLike<number>, n?: N): Many<Uint32Array, N> {
  const count: number = n ?? 2;
  checkCount("hostSplit", count);
  const [k0, k1] = wordsOf(key);
  const keys = Array.from({ length: count }, (_, i) => Uint32Array.of(...threefry2x32(k0, k1, 0, i)));
  return keys as Many<Uint32Array, N>;
}

/**
 * Another key from a key and a 32-bit number, as `random.foldIn` gives it.
 *
 * @example
 * ```ts
 * const forEpoch = hostFoldIn(key, epoch);
 * ```
 */
export function hostFoldIn(key: ArrayLike<number>, data: number): Uint32Array {
  return Uint32Array.of(...threefry2x32(...wordsOf(key), 0, dataWord("hostFoldIn", data)));
}

/**
 * `n` times 32 random bits, as `random.bits` gives them.
 *
 * @example
 * ```ts
 * const [seed] = hostBits(key, 1);
 * ```
 */
export function hostBits(key: ArrayLike<number>, n: number): Uint32Array {
  checkCount("hostBits", n);
  const [k0, k1] = wordsOf(key);
  const bits = new Uint32Array(n);
  const pair = new Uint32Array(2);
  for (let i = 0; i < n; i++) {
    threefryInto(k0, k1, 0, i, pair, 0);
    bits[i] = (pair[0] as number) ^ (pair[1] as number);
  }
  return bits;
}

/**
 * `n` numbers from 0 up to 1, as `random.uniform` gives them.
 *
 * @example
 * ```ts
 * const kept = hostUniform(key, 100).map((u) => (u < 0.9 ? 1 : 0));
 * ```
 */
export const hostUniform = (key: ArrayLike<number>, n: number): Float32Array =>
  Float32Array.from(hostBits(key, n), (bits) => (bits >>> 9) * 2 ** -23);

/**
 * The numbers from 0 up to n in random order, as `random.permutation` gives them.
 *
 * @example
 * ```ts
 * const order = hostPermutation(hostFoldIn(key, epoch), examples.length);
 * ```
 */
export function hostPermutation(key: ArrayLike<number>, n: number): Uint32Array {
  checkCount("hostPermutation", n);
  let order = Uint32Array.from({ length: n }, (_, i) => i);
  let next = key;
  for (let round = 0; round < shuffleRounds(n); round++) {
    const [rest, now] = hostSplit(next);
    next = rest;
    const random = hostBits(now, n);
    // Random number above, place below, in one 64-bit integer: sorts fast, and equals keep their order.
    const pairs = new BigUint64Array(n);
    const halves = new Uint32Array(pairs.buffer);
    for (let i = 0; i < n; i++) {
      halves[2 * i] = i;
      halves[2 * i + 1] = random[i] as number;
    }
    pairs.sort();
    const before = order;
    order = before.map((_, i) => before[halves[2 * i] as number] as number);
  }
  return order;
}
