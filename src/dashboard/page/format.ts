// Numbers, times and sizes as people read them.

/** A number in at most five significant digits: 0.12346, 1,234.5, 1.2e-7. Null is a value that is not finite. */
export function formatNumber(value: number | null | undefined): string {
  if (value === undefined) return "";
  if (value === null || Number.isNaN(value)) return "not finite";
  const size = Math.abs(value);
  if (size === Number.POSITIVE_INFINITY) return value < 0 ? "-∞" : "∞";
  if (size !== 0 && (size < 1e-4 || size >= 1e9))
    return String(Number(value.toPrecision(4))).replace("e+", "e");
  if (Number.isInteger(value)) return value.toLocaleString("en-US");
  return Number(value.toPrecision(5)).toLocaleString("en-US", { maximumSignificantDigits: 5 });
}

/** A number at an axis, where there is little room: 250K, 1.5M. */
export const formatTick = (value: number): string =>
  Math.abs(value) < 1e5 ? formatNumber(value) : compact.format(value);
const compact = new Intl.NumberFormat("en-US", { notation: "compact", maximumSignificantDigits: 5 });

/** Milliseconds as the two largest units: 850 ms, 4.2 s, 3 min 5 s, 2 h 10 min, 3 d 4 h. */
export function formatDuration(milliseconds: number): string {
  const ms = Math.max(0, milliseconds);
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const seconds = ms / 1000;
  if (seconds < 10) return `${Math.floor(seconds * 10) / 10} s`;
  if (seconds < 60) return `${Math.floor(seconds)} s`;
  const pair = (large: number, unit: string, small: number, rest: string) =>
    Math.floor(small) === 0
      ? `${Math.floor(large)} ${unit}`
      : `${Math.floor(large)} ${unit} ${Math.floor(small)} ${rest}`;
  if (seconds < 3600) return pair(seconds / 60, "min", seconds % 60, "s");
  if (seconds < 86_400) return pair(seconds / 3600, "h", (seconds % 3600) / 60, "min");
  return pair(seconds / 86_400, "d", (seconds % 86_400) / 3600, "h");
}

/** How long ago, in one unit: now, 12 s ago, 3 min ago. */
export function formatAge(milliseconds: number): string {
  const seconds = Math.floor(milliseconds / 1000);
  if (seconds < 2) return "now";
  if (seconds < 60) return `${seconds} s ago`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 172_800) return `${Math.floor(seconds / 3600)} h ago`;
  return `${Math.floor(seconds / 86_400)} d ago`;
}

/** Bytes with a unit: 512 B, 1.5 kB, 20 MB. */
export function formatBytes(bytes: number): string {
  let [size, unit] = [bytes, 0];
  while (size >= 1000 && unit < units.length - 1) [size, unit] = [size / 1000, unit + 1];
  return `${unit === 0 ? size : Number(size.toPrecision(3))} ${units[unit]}`;
}

const units = ["B", "kB", "MB", "GB", "TB", "PB"];

/** A moment: 2025-03-04 05:06:07, in the browser's time zone. */
export function formatTime(milliseconds: number): string {
  const at = new Date(milliseconds);
  const two = (value: number) => String(value).padStart(2, "0");
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
}
