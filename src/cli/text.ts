import { tableLines } from "../core/index.ts";

/** Rows of cells as aligned lines below headings, which `dim` makes fainter. */
export function headedTable(
  headings: readonly string[],
  rows: readonly (readonly string[])[],
  { dim }: { readonly dim: (text: string) => string },
): readonly string[] {
  const [first = "", ...others] = tableLines([headings, ...rows]);
  return [dim(first), ...others];
}

/** JSON in which NaN and infinity keep their names, as strings: JSON has no numbers for them. */
export const jsonText = (value: unknown, indent = 2): string =>
  JSON.stringify(
    value,
    (_name, part: unknown) => (typeof part === "number" && !Number.isFinite(part) ? String(part) : part),
    indent,
  );

const two = (number: number): string => String(number).padStart(2, "0");

/** A moment as the clock on the wall shows it here: `2026-11-15 12:03`. */
export function dateText(wall: number): string {
  const date = new Date(wall);
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${timeText(wall).slice(0, 5)}`;
}

/** The time of day here: `12:03:45`. */
export function timeText(wall: number): string {
  const date = new Date(wall);
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

/** A duration for people, in two units at most: `85 ms`, `4.2 s`, `12 min 05 s`, `3 h 20 min`, `2 d 4 h`. */
export function durationText(milliseconds: number): string {
  if (!(milliseconds >= 0)) return "0 s"; // Clocks of two machines may disagree.
  if (milliseconds < 1000) return `${Math.floor(milliseconds)} ms`;
  if (milliseconds < 10_000) return `${(Math.floor(milliseconds / 100) / 10).toFixed(1)} s`;
  const seconds = Math.floor(milliseconds / 1000);
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${two(seconds % 60)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 24 * 60) return `${Math.floor(minutes / 60)} h ${two(minutes % 60)} min`;
  const hours = Math.floor(minutes / 60);
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/** An age in one unit: `40 s`, `5 min`, `3 h`, `2 d`. */
export const ageText = (milliseconds: number): string =>
  durationText(milliseconds).split(" ").slice(0, 2).join(" ");

/** The duration of a call, which may be short: `12.5 us`, `3.4 ms`, `4.2 s`. */
export function callText(milliseconds: number): string {
  if (milliseconds >= 1000) return durationText(milliseconds);
  const short = (number: number): number => Number(number.toPrecision(3));
  return milliseconds < 1 ? `${short(1000 * milliseconds)} us` : `${short(milliseconds)} ms`;
}
