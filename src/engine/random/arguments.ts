import { userError } from "../trace/location.ts";

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
