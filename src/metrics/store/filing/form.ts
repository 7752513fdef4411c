import type { Histogram, MetricRecord } from "../../record.ts";
import { jsonOf, numbersOf } from "../json-text.ts";

/**
 * What a row's value is. The column holds finite and infinite numbers; the others are told by their form, because
 * SQLite has no NaN and neither database keeps the sign of a zero.
 */
export const forms = { number: 0, nan: 1, minusZero: 2, text: 3, histogram: 4 } as const;

export function formOf(value: MetricRecord["value"]): number {
  if (typeof value === "string") return forms.text;
  if (typeof value === "object") return forms.histogram;
  if (Number.isNaN(value)) return forms.nan;
  return Object.is(value, -0) ? forms.minusZero : forms.number;
}

/** What goes into the column of numbers. */
export const columnOf = (value: MetricRecord["value"]): number | null =>
  typeof value !== "number" || Number.isNaN(value) ? null : value;

/** What goes into the column of texts, as JSON, which has nothing in it that a database refuses. */
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
