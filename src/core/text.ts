import { padEnd, padStart, printable, widthOf } from "./printable.ts";

/** Options of {@link tableLines}. */
export interface TableOptions {
  /** Indices of columns that are aligned to the right. Default: none. */
  readonly right?: readonly number[];
  /** Cells with more characters are cut. Default: 200. */
  readonly longest?: number;
}

/**
 * Aligns rows of cells in columns, two spaces apart, and returns one line per row without trailing spaces. Cells are
 * made printable first, so they may come from anywhere.
 *
 * @example
 * ```ts
 * tableLines([["engine", "ms"], ["wasm", "12.5"]], { right: [1] }); // ["engine    ms", "wasm    12.5"]
 * ```
 */
export function tableLines(
  rows: readonly (readonly string[])[],
  { right = [], longest }: TableOptions = {},
): readonly string[] {
  const cells = rows.map((row) => row.map((cell) => printable(cell, longest)));
  const widths: number[] = [];
  for (const row of cells)
    for (const [i, cell] of row.entries()) widths[i] = Math.max(widths[i] ?? 0, widthOf(cell));
  return cells.map((row) =>
    row
      .map((cell, i) => (right.includes(i) ? padStart : padEnd)(cell, widths[i] ?? 0))
      .join("  ")
      .trimEnd(),
  );
}

/** Options of {@link numberText}. */
export interface NumberOptions {
  /** Significant digits. Default: 4. */
  readonly digits?: number;
  /** Keeps zeros at the end, so that numbers in a column line up. Default: false. */
  readonly zeros?: boolean;
}

/**
 * A number with a few significant digits: `0.1234`, `98.1`, `12346`, `1.235e+6`. The integer part is complete below a
 * million, integers are exact below ten million.
 */
export function numberText(value: number, { digits = 4, zeros = false }: NumberOptions = {}): string {
  if (Number.isNaN(value)) return "NaN";
  const size = Math.abs(value);
  if (size === Number.POSITIVE_INFINITY) return value > 0 ? "inf" : "-inf";
  if (Number.isInteger(value) && size < 1e7) return String(value + 0);
  const text = value.toPrecision(digits);
  const rounded = Math.abs(Number(text));
  if (size < 1e-4 || rounded >= 1e6) {
    const exponential = value.toExponential(digits - 1);
    return zeros ? exponential : exponential.replace(/\.?0+e/, "e");
  }
  if (rounded >= 10 ** digits) return String(Math.round(value));
  return zeros || !text.endsWith("0") || !text.includes(".") ? text : text.replace(/\.?0+$/, "");
}

/** Made when it is needed, and once: making one takes as long as hundreds of counts. */
let countFormat: Intl.NumberFormat | undefined;

/** A count with separators: `12,345`. */
export const countText = (count: number): string => {
  countFormat ??= new Intl.NumberFormat("en-US", { maximumFractionDigits: 1 });
  return countFormat.format(count);
};

/** A count with its unit, which is given in the plural: `1 epoch`, `12,345 epochs`. */
export const amountText = (count: number, unit: string): string =>
  `${countText(count)} ${count === 1 ? singular(unit) : unit}`;

/** The singular of a unit: `step` of `steps`, `batch` of `batches`; words that end in `ss` stay as they are. */
export const singular = (unit: string): string => unit.replace(/(?<=ch)es$|(?<=[^s])s$/, "");

const byteUnits = ["B", "kB", "MB", "GB", "TB"];

/** A number of bytes in decimal units: `12 B`, `1.5 kB`, `2.0 GB`. */
export function bytesText(bytes: number): string {
  const power = Math.min(byteUnits.length - 1, Math.floor(Math.log10(Math.max(bytes, 1)) / 3));
  return power === 0 ? `${bytes} B` : `${(bytes / 1000 ** power).toFixed(1)} ${byteUnits[power]}`;
}

/** True for the 1st, 10th, 100th, ... occurrence, so that frequent warnings are printed rarely. */
export const isWorthSaying = (count: number): boolean => /^10*$/.test(String(count));

/** "the 1st", "the 10th", and when it is said again. */
export const countInWords = (count: number): string =>
  `the ${count === 1 ? "1st" : `${count}th`} so far, said again at the ${count * 10}th`;
