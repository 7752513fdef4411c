import type { MetricRecord } from "../../record.ts";

/** The numbers of a record in their bits. */
const numbers = new Float64Array(4);
const words = new Uint32Array(numbers.buffer);

/**
 * 52 bits made of all that a record holds beside its metric and its step. With these two it says which record it is:
 * one that is filed again, because nobody knows whether it was, is found; two values of a metric at the same step, of
 * which one came late, are told apart. 0 and -0 are the same here: what was spilled to disk comes back with one zero.
 */
export function identityOf(record: MetricRecord, body: string | null): number {
  const { value } = record;
  // Adding 0 makes -0 a 0; one NaN stands for all.
  numbers[0] = typeof value !== "number" || Number.isNaN(value) ? Number.NaN : value + 0;
  numbers[1] = record.wall;
  numbers[2] = record.count;
  numbers[3] = record.notFinite;
  let high = 0x9e3779b9;
  let low = 0x7f4a7c15;
  for (let index = 0; index < words.length; index++) {
    const word = words[index] as number;
    high = Math.imul(high ^ word, 0x85ebca6b);
    high ^= high >>> 13;
    low = Math.imul(low ^ word, 0xc2b2ae35);
    low ^= low >>> 16;
  }
  return body === null ? joined(high, low) : textIdentity(body, high, low);
}

/** The same of a text. */
export function textIdentity(text: string, high = 0x9e3779b9, low = 0x7f4a7c15): number {
  for (let index = 0; index < text.length; index++) {
    const word = text.charCodeAt(index);
    high = Math.imul(high ^ word, 0x85ebca6b);
    high ^= high >>> 13;
    low = Math.imul(low ^ word, 0xc2b2ae35);
    low ^= low >>> 16;
  }
  return joined(high, low);
}

const joined = (high: number, low: number): number => (high >>> 0) * 2 ** 20 + (low >>> 12);
