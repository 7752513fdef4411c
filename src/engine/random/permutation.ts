import { checkOptions } from "../np/arguments.ts";
import { asValue, type ValueLike } from "../np/operands.ts";
import { iota } from "../ops/constant.ts";
import { gather } from "../ops/gather.ts";
import { checkAxis } from "../ops/rules.ts";
import { transpose } from "../ops/shape.ts";
import { sort } from "../ops/sort.ts";
import type { Value } from "../trace/value.ts";
import { checkCount, checkKey, type Key, shuffleRounds, split } from "./key.ts";
import { bits } from "./uniform.ts";

/** Options of {@link permutation} and {@link shuffle}. */
export interface ShuffleOptions {
  /** The axis along which parts change places. Default: the first. */
  readonly axis?: number;
}

/** A value of one axis in random order: sorted by random numbers, again where two of them may be equal. */
function sorted(key: Key, x: Value): Value {
  let next = key;
  let result = x;
  for (let round = 0; round < shuffleRounds(x.size); round++) {
    const [rest, now] = split(next);
    next = rest;
    result = sort([bits(now, x.shape), result], 0)[1] as Value;
  }
  return result;
}

/**
 * A value with its rows, or the parts along another axis, in random order.
 *
 * @example
 * ```ts
 * const [a, b] = [random.shuffle(key, inputs), random.shuffle(key, labels)]; // one key, one order
 * ```
 */
export function shuffle(key: Key, x: ValueLike, options: ShuffleOptions = {}): Value {
  checkKey("shuffle", key);
  checkOptions("shuffle", options, ["axis"]);
  const value = asValue(x, undefined, "shuffle: the value");
  const axis = checkAxis("shuffle", options.axis ?? 0, value.ndim);
  if (value.ndim === 1) return sorted(key, value);
  const order = permutation(key, value.shape[axis] as number);
  // Swapping two axes undoes itself.
  const front = value.shape.map((_, d) => (d === 0 ? axis : d === axis ? 0 : d));
  return transpose(gather(transpose(value, front), order), front);
}

/**
 * The numbers from 0 up to n in random order (i32), or a value with its rows in random order.
 *
 * @example
 * ```ts
 * const order = random.permutation(key, 1000);
 * const mixed = random.permutation(key, batch);
 * ```
 */
export function permutation(key: Key, x: ValueLike, options: ShuffleOptions = {}): Value {
  checkKey("permutation", key);
  if (typeof x !== "number") return shuffle(key, x, options);
  checkCount("permutation", x);
  return sorted(key, iota("i32", [x]));
}
