import { userError } from "../trace/location.ts";

/** Threefry's rotations, by groups of four rounds. */
export const rotations = [
  [13, 15, 26, 6],
  [17, 29, 16, 24],
] as const;

/** What the third word of the key schedule is made with. */
export const parity = 0x1bd11bda;

/** Writes the two words that the key (k0, k1) makes of the count (c0, c1) to `out[at]` and `out[at + 1]`. */
export function threefryInto(
  k0: number,
  k1: number,
  c0: number,
  c1: number,
  out: Uint32Array,
  at: number,
): void {
  // Signed 32-bit numbers throughout, four rounds written out: what V8 runs in 16 ns a count.
  let a = k1 | 0;
  let b = k0 ^ k1 ^ parity;
  let c = k0 | 0;
  let x0 = (c0 + c) | 0;
  let x1 = (c1 + a) | 0;
  for (let group = 0; group < 5; group++) {
    const rotation = rotations[(group & 1) as 0 | 1];
    const r0 = rotation[0];
    const r1 = rotation[1];
    const r2 = rotation[2];
    const r3 = rotation[3];
    x0 = (x0 + x1) | 0;
    x1 = ((x1 << r0) | (x1 >>> (32 - r0))) ^ x0;
    x0 = (x0 + x1) | 0;
    x1 = ((x1 << r1) | (x1 >>> (32 - r1))) ^ x0;
    x0 = (x0 + x1) | 0;
    x1 = ((x1 << r2) | (x1 >>> (32 - r2))) ^ x0;
    x0 = (x0 + x1) | 0;
    x1 = ((x1 << r3) | (x1 >>> (32 - r3))) ^ x0;
    x0 = (x0 + a) | 0;
    x1 = (x1 + b + group + 1) | 0;
    const first = a;
    a = b;
    b = c;
    c = first;
  }
  out[at] = x0;
  out[at + 1] = x1;
}

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

/** The two words of a whole number: negative ones down to -2^31 by their 32 bits, others up to 2^53. */
export function seedWords(seed: number): [high: number, low: number] {
  if (!Number.isSafeInteger(seed) || seed < -(2 ** 31))
    throw userError(
      "SEED_INVALID",
      `${seed} is no seed`,
      "use a whole number from -2147483648 to 9007199254740991",
    );
  return [seed < 0 ? 0 : Math.floor(seed / 2 ** 32), seed >>> 0];
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
  if (key.length !== 2)
    throw userError(
      "KEY_INVALID",
      `a key is two 32-bit words, and this has ${key.length}`,
      "make keys with hostKey(seed) and hostSplit(key)",
    );
  return [key[0] as number, key[1] as number];
}

/** `n` keys from one, as `random.split` gives them. */
export function hostSplit(key: ArrayLike<number>, n = 2): Uint32Array[] {
  const [k0, k1] = wordsOf(key);
  return Array.from({ length: n }, (_, i) => Uint32Array.of(...threefry2x32(k0, k1, 0, i)));
}

/** Another key from a key and a 32-bit number, as `random.foldIn` gives it. */
export function hostFoldIn(key: ArrayLike<number>, data: number): Uint32Array {
  return Uint32Array.of(...threefry2x32(...wordsOf(key), 0, data >>> 0));
}

/** `n` times 32 random bits, as `random.bits` gives them. */
export function hostBits(key: ArrayLike<number>, n: number): Uint32Array {
  const [k0, k1] = wordsOf(key);
  const bits = new Uint32Array(n);
  const pair = new Uint32Array(2);
  for (let i = 0; i < n; i++) {
    threefryInto(k0, k1, 0, i, pair, 0);
    bits[i] = (pair[0] as number) ^ (pair[1] as number);
  }
  return bits;
}

/** `n` numbers from 0 up to 1, as `random.uniform` gives them. */
export const hostUniform = (key: ArrayLike<number>, n: number): Float32Array =>
  Float32Array.from(hostBits(key, n), (bits) => (bits >>> 9) * 2 ** -23);

/** How often a shuffle sorts by new 32-bit numbers, so that equal ones cannot matter: the count JAX uses. */
export const shuffleRounds = (n: number): number =>
  Math.ceil((3 * Math.log(Math.max(1, n))) / Math.log(2 ** 32 - 1));

/**
 * The numbers from 0 up to n in random order, as `random.permutation` gives them.
 *
 * @example
 * ```ts
 * const order = hostPermutation(hostFoldIn(key, epoch), examples.length);
 * ```
 */
export function hostPermutation(key: ArrayLike<number>, n: number): Uint32Array {
  let order = Uint32Array.from({ length: n }, (_, i) => i);
  let next = key;
  for (let round = 0; round < shuffleRounds(n); round++) {
    const [rest, now] = hostSplit(next) as [Uint32Array, Uint32Array];
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
