import type { EngineName } from "../run/backend.ts";
import { compile } from "../run/compile.ts";
import { put } from "../run/put.ts";
import type { Value } from "../trace/value.ts";
import { hostKey } from "./host.ts";

/** What a random function gave: the type as text, e.g. `f32[2,3]`, and the numbers in row-major order. */
export interface Drawn {
  readonly type: string;
  readonly values: readonly number[];
}

/** Compiles a function of a key and runs it with the key of a seed. */
export function draw(engine: EngineName, seed: number, fn: (key: Value) => Value): Drawn {
  const result = compile(fn, { engine })(put(hostKey(seed), { engine }));
  return { type: result.type.text, values: [...result.readSync()] };
}

/** Tells two lists of 32-bit words apart: sum, exclusive or, and a sum that minds the order. */
export function digest(words: ArrayLike<number>) {
  let [sum, xor, mixed] = [0, 0, 0];
  for (let i = 0; i < words.length; i++) {
    const word = words[i] as number;
    sum = (sum + word) >>> 0;
    xor = (xor ^ word) >>> 0;
    mixed = (mixed + Math.imul(word, 2 * i + 1)) >>> 0;
  }
  return { sum, xor, mixed };
}

/** Mean and variance. */
export function moments(values: readonly number[]): { readonly mean: number; readonly variance: number } {
  const mean = values.reduce((sum, x) => sum + x, 0) / values.length;
  return { mean, variance: values.reduce((sum, x) => sum + (x - mean) ** 2, 0) / values.length };
}
