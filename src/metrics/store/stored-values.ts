import type { Histogram, MetricRecord } from "../record.ts";

// How values stand in columns: JSON, metric values of all kinds, and the identities by which a row is filed once.

/** JSON in which numbers that it does not have are strings: `"NaN"`, `"Infinity"`, `"-Infinity"`. */
export const jsonOf = (value: unknown): string =>
  JSON.stringify(value, (_name, part: unknown) =>
    typeof part === "number" && !Number.isFinite(part) ? String(part) : part,
  ) ?? "null";

/** Numbers by name, out of what `jsonOf` made of them. */
export function numbersOf(given: object): Record<string, number> {
  return Object.fromEntries(Object.entries(given).map(([name, value]) => [name, Number(value)]));
}

const unstorable = /[\0\p{Surrogate}]/gu;

/** A text without what databases refuse or cut at: zero characters and halves of pairs become U+FFFD. */
export const storable = (text: string): string => text.replace(unstorable, "\uFFFD");

/**
 * The kind of a row's value. The column holds finite and infinite numbers; the others are told by their form, because
 * SQLite has no NaN and neither database keeps the sign of a zero.
 */
export const forms = { number: 0, nan: 1, minusZero: 2, text: 3, histogram: 4 } as const;

export function formOf(value: MetricRecord["value"]): number {
  if (typeof value === "string") return forms.text;
  if (typeof value === "object") return forms.histogram;
  if (Number.isNaN(value)) return forms.nan;
  return Object.is(value, -0) ? forms.minusZero : forms.number;
}

/** The value for the column of numbers. */
export const columnOf = (value: MetricRecord["value"]): number | null =>
  typeof value !== "number" || Number.isNaN(value) ? null : value;

/** The value for the column of texts, as JSON, which has nothing in it that a database refuses. */
export const bodyOf = (value: MetricRecord["value"]): string | null =>
  typeof value === "number" ? null : jsonOf(value);

export interface StoredValue {
  readonly form: number;
  readonly value: number | null;
  readonly body: string | null;
}

/** The value of a row as the store gives it. */
export function readValue({ form, value, body }: StoredValue): {
  readonly value: number | undefined;
  readonly text: string | undefined;
  readonly histogram: Histogram | undefined;
} {
  const none = { value: undefined, text: undefined, histogram: undefined };
  if (form === forms.text) return { ...none, text: JSON.parse(body ?? '""') as string };
  if (form === forms.histogram) return { ...none, histogram: histogramOf(body) };
  if (form === forms.minusZero) return { ...none, value: -0 };
  return { ...none, value: form === forms.nan ? Number.NaN : Number(value) };
}

function histogramOf(body: string | null): Histogram {
  const { edges, counts, ...sums } = JSON.parse(body ?? "{}") as Histogram;
  const numbers = numbersOf(sums) as unknown as typeof sums;
  return { edges: edges.map(Number), counts: counts.map(Number), ...numbers };
}

/** The numbers of a record in their bits. */
const numbers = new Float64Array(4);
const words = new Uint32Array(numbers.buffer);

/**
 * 52 bits made of all that a record holds beside its metric and its step. With these two it says which record it is:
 * one that comes again, after a call that may have failed, is found; two values of a metric at the same step, of
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
