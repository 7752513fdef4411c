/**
 * A number with four significant digits, or all of its whole part up to a million: `0.1234`, `98.10`, `12346`,
 * `1.235e+6`. Whole numbers are exact up to ten million. Without `zeros` those at the end are left out.
 */
export function significant(value: number, { zeros }: { readonly zeros: boolean }): string {
  if (Number.isNaN(value)) return "NaN";
  const size = Math.abs(value);
  if (size === Number.POSITIVE_INFINITY) return value > 0 ? "inf" : "-inf";
  if (Number.isInteger(value) && size < 1e7) return String(value + 0);
  const rounded = Math.abs(Number(value.toPrecision(4)));
  if (size < 1e-4 || rounded >= 1e6) {
    const text = value.toExponential(3);
    return zeros ? text : text.replace(/\.?0+e/, "e");
  }
  if (rounded >= 1e4) return String(Math.round(value));
  const text = value.toPrecision(4);
  return zeros || !text.includes(".") ? text : text.replace(/\.?0+$/, "");
}

const scales = ["", "k", "M", "G", "T"];

/** How many a second, short: `0.25`, `12.3`, `1.2k`, `34.0M`. */
export function rateText(rate: number): string {
  if (!Number.isFinite(rate) || rate < 0) return "?";
  if (rate > 0 && rate < 0.995)
    return rate < 0.001 ? rate.toExponential(0) : String(Number(rate.toPrecision(2)));
  let scaled = rate;
  let scale = 0;
  // 999.96 is written 1000.0, which is 1.0k.
  while (scaled >= 999.95 && scale < scales.length - 1) {
    scaled /= 1000;
    scale++;
  }
  return scaled.toFixed(1) + scales[scale];
}

/** A time as a clock shows it: `0:07`, `12:34`, `1:02:03`, `2d 03:04`. */
export function durationText(seconds: number): string {
  if (!Number.isFinite(seconds) || seconds < 0) return "?";
  const whole = Math.round(seconds);
  const two = (count: number): string => String(count % 60).padStart(2, "0");
  const minutes = Math.floor(whole / 60);
  const hours = Math.floor(minutes / 60);
  if (hours >= 24) return `${Math.floor(hours / 24)}d ${String(hours % 24).padStart(2, "0")}:${two(minutes)}`;
  return hours > 0 ? `${hours}:${two(minutes)}:${two(whole)}` : `${minutes}:${two(whole)}`;
}

/** A time in seconds, with the clock's way of saying it where it is long: `12.3 s`, `75.0 s (1:15)`. */
export function secondsText(seconds: number): string {
  if (!Number.isFinite(seconds)) return "an unknown time";
  const text = `${seconds < 0.1 ? significant(seconds, { zeros: false }) : seconds.toFixed(1)} s`;
  return seconds < 60 ? text : `${text} (${durationText(seconds)})`;
}

/** What one of a unit is called: `steps` are counted, but it is `step 1000`. */
export const oneOf = (unit: string): string => (/[^s]s$/.test(unit) ? unit.slice(0, -1) : unit);

/** `1 epoch`, `20 epochs`. */
export const amountOf = (count: number, unit: string): string =>
  `${significant(count, { zeros: false })} ${count === 1 ? oneOf(unit) : unit}`;
