// Numbers, times and sizes as people read them.

/** A number in at most five significant digits: 0.12346, 1,234.5, 1.2e-7. Null is a value that is not finite. */
export function formatNumber(value: number | null | undefined): string {
  if (value === undefined) return "";
  if (value === null || Number.isNaN(value)) return "not finite";
  const size = Math.abs(value);
  if (size === Number.POSITIVE_INFINITY) return value < 0 ? "-∞" : "∞";
  if (size >= 1e9) return Number(value.toPrecision(4)).toExponential().replace("e+", "e");
  if (size !== 0 && size < 1e-4) return String(Number(value.toPrecision(4)));
  if (Number.isInteger(value)) return value.toLocaleString("en-US");
  return Number(value.toPrecision(5)).toLocaleString("en-US", { maximumSignificantDigits: 5 });
}

/** A number at an axis, where there is little room: 250K, 1.5M. */
export const formatTick = (value: number): string =>
  Math.abs(value) < 1e5 || Math.abs(value) >= 1e15 ? formatNumber(value) : compact.format(value);
const compact = new Intl.NumberFormat("en-US", { notation: "compact", maximumSignificantDigits: 5 });

const spans = [
  [86_400_000, "d"],
  [3_600_000, "h"],
  [60_000, "min"],
  [1000, "s"],
] as const;

/** Milliseconds as the two largest units: 850 ms, 4.2 s, 3 min 5 s, 2 h 10 min, 3 d 4 h. */
export function formatDuration(milliseconds: number): string {
  let rest = Math.max(0, milliseconds);
  if (rest < 1000) return `${Math.round(rest)} ms`;
  if (rest < 10_000) return `${Math.floor(rest / 100) / 10} s`;
  const largest = spans.findIndex(([size]) => rest >= size);
  const parts = spans.slice(largest, largest + 2).map(([size, unit]) => {
    const count = Math.floor(rest / size);
    rest %= size;
    return count === 0 ? "" : ` ${count} ${unit}`;
  });
  return parts.join("").trim();
}

/** How long ago, in one unit: now, 12 s ago, 3 min ago, 2 d ago. */
export function formatAge(milliseconds: number): string {
  if (milliseconds < 2000) return "now";
  return formatDuration(milliseconds - (milliseconds % 1000)).replace(/(?<=[a-z]) .*|$/, " ago");
}

/** A moment: 2025-03-04 05:06:07, in the browser's time zone. Swedes write it so. */
export const formatTime = (milliseconds: number): string => new Date(milliseconds).toLocaleString("sv");
