import { asValue, type ValueLike } from "../np/operands.ts";
import { iota, literalArray, splat } from "../ops/constant.ts";
import { bitcast, convert } from "../ops/convert.ts";
import { concatenate, reshape } from "../ops/shape.ts";
import { slice } from "../ops/slice.ts";
import { materialize, threefry2x32 } from "../ops/threefry.ts";
import type { Tensor } from "../run/tensor.ts";
import { isInteger } from "../trace/dtype.ts";
import { userError } from "../trace/location.ts";
import { type Shape, sizeOf } from "../trace/type.ts";
import { currentTrace, type Value } from "../trace/value.ts";

/** A list of as many as asked for, where the number is written out. */
export type Many<T, N extends number> = number extends N ? T[] : Tuple<T, N>;
type Tuple<T, N extends number, A extends T[] = []> = A["length"] extends N ? A : Tuple<T, N, [...A, T]>;

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

/** The 32 bits of a whole number, negative or not. */
export function dataWord(fn: string, data: number): number {
  if (!(Number.isInteger(data) && data >= -(2 ** 31) && data < 2 ** 32))
    throw userError(
      "ARGUMENT_INVALID",
      `${fn}: ${data} is no 32-bit integer`,
      "use a whole number from -2147483648 to 4294967295",
    );
  return data >>> 0;
}

/** Checks a count. */
export function checkCount(fn: string, n: number): void {
  if (!Number.isInteger(n) || n < 0)
    throw userError(
      "ARGUMENT_INVALID",
      `${fn}: there cannot be ${n} of them`,
      "use a whole number from 0 on",
    );
}

/** Number of sorts by new 32-bit numbers in a shuffle, so that ties do not matter: the count JAX uses. */
export const shuffleRounds = (n: number): number =>
  Math.ceil((3 * Math.log(Math.max(1, n))) / Math.log(2 ** 32 - 1));

/** A key: u32[2], traced, as a tensor, or as `hostKey` gives it. */
export type Key = Value | Tensor | Uint32Array;

/**
 * A key from a seed: what every random function takes, and what alone decides its numbers. Use a key once; `split`
 * gives new ones.
 *
 * Keys are JAX's: `jax.random.PRNGKey(seed)` for seeds from -2^31 up to 2^32. From there to 2^53 they are those of
 * JAX with 64 bits enabled (without, JAX drops the upper half).
 *
 * @example
 * ```ts
 * const init = compile(() => random.normal(random.key(42), [3, 4]));
 * const again = compile((seed: Value) => random.normal(random.key(seed), [3, 4])); // seeds of one integer
 * ```
 */
export function key(seed: number | Value | Tensor): Value {
  currentTrace("key");
  if (typeof seed === "number") return literalArray(seedWords(seed), "u32", [2]);
  return concatenate([splat(0, "u32", [1]), reshape(word("key", "the seed", asValue(seed)), [1])], 0);
}

/** A scalar integer's 32 bits. */
function word(fn: string, argument: string, x: Value): Value {
  if (x.ndim !== 0 || !isInteger(x.dtype))
    throw userError(
      "SEED_INVALID",
      `${fn}: ${argument} is ${x.type.text}, but must be one integer`,
      "pass a scalar i32 or u32; use vmap for many",
    );
  return x.dtype === "i32" ? bitcast(x, "u32") : convert(x, "u32");
}

/** A key as a value; an error of `fn` where it is none. */
export function checkKey(fn: string, given: Key): Value {
  currentTrace(fn);
  const value = asValue(given as ValueLike, undefined, `${fn}: the key`);
  if (value.dtype !== "u32" || value.ndim !== 1 || value.shape[0] !== 2)
    throw userError(
      "KEY_INVALID",
      `${fn}: the key is ${value.type.text}, but a key is a u32[2], made by random.key(seed)`,
      "make keys with random.key(seed) or random.split(key); map over many keys with vmap",
    );
  return value;
}

/** The two words of a key, as scalars. */
function keyWords(fn: string, given: Key): readonly [Value, Value] {
  const value = checkKey(fn, given);
  return [reshape(slice(value, [0], [1]), []), reshape(slice(value, [1], [2]), [])];
}

/** The two words a key makes of each count 0, 1, 2, ... of a shape: what everything random is made of. */
export function blocks(fn: string, given: Key, shape: Shape): readonly [Value, Value] {
  const words = keyWords(fn, given);
  const size = sizeOf(shape);
  if (size === 0) return [splat(0, "u32", shape), splat(0, "u32", shape)];
  const count = shape.length === 0 ? splat(0, "u32") : reshape(iota("u32", [size]), shape);
  return threefry2x32(...words, splat(0, "u32"), count);
}

/** Words side by side as keys, on one more axis. */
function asKeys([first, second]: readonly [Value, Value]): Value {
  const column = (x: Value): Value => reshape(x, [...x.shape, 1]);
  return materialize(concatenate([column(first), column(second)], first.ndim));
}

/**
 * `n` keys from one as u32[n,2], for `vmap` and `scan`. Do not use the old key afterwards.
 *
 * @example
 * ```ts
 * const samples = vmap((k: Value) => random.normal(k, [3]))(random.splitKeys(key, 10)); // f32[10,3]
 * ```
 */
export function splitKeys(given: Key, n: number): Value {
  checkCount("split", n);
  return asKeys(blocks("split", given, [n]));
}

/**
 * Splits a key into new ones (default: two). Do not use the old key afterwards.
 *
 * @example
 * ```ts
 * const [forNoise, forMask] = random.split(key);
 * const [a, b, c] = random.split(key, 3);
 * ```
 */
export function split<const N extends number = 2>(given: Key, n?: N): Many<Value, N> {
  const count: number = n ?? 2;
  const keys = splitKeys(given, count);
  const rows = Array.from({ length: count }, (_, i) => reshape(slice(keys, [i, 0], [i + 1, 2]), [2]));
  return rows as Many<Value, N>;
}

/**
 * Another key from a key and a number of 32 bits: a key for each step of a loop, say, without a chain of splits.
 *
 * @example
 * ```ts
 * const forStep = random.foldIn(key, step); // step: a number or a traced integer
 * ```
 */
export function foldIn(given: Key, data: number | Value | Tensor): Value {
  const [k0, k1] = keyWords("foldIn", given);
  const count =
    typeof data === "number"
      ? splat(dataWord("foldIn", data), "u32")
      : word("foldIn", "the number to fold in", asValue(data));
  return asKeys(threefry2x32(k0, k1, splat(0, "u32"), count));
}
