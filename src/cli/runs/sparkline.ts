/** One value of a curve: where it lies on its axis, and what it is, NaN and infinity included. */
export interface Point {
  readonly step: number;
  readonly value: number;
}

const BLOCKS = [..."▁▂▃▄▅▆▇█"];
/** Heights for terminals that know no blocks. */
const LETTERS = [..."_.:-=+*#"];

/**
 * A curve in one line of text. Columns stand for equal stretches of steps and show the mean of their values, scaled
 * from the smallest to the greatest mean. A stretch without values is blank; one with a value that is not finite is
 * marked, however many others it has, because that is what one looks for.
 */
export function sparkline(
  points: readonly Point[],
  { width, ascii = false }: { readonly width: number; readonly ascii?: boolean },
): string {
  const means = columnMeans(points, width);
  const finite = means.filter((mean): mean is number => mean !== undefined && Number.isFinite(mean));
  const low = Math.min(...finite);
  const high = Math.max(...finite);
  const levels = ascii ? LETTERS : BLOCKS;
  const height = (mean: number): string => {
    // Halves, so that the span between -1.7e308 and 1.7e308 is still a number.
    const part = high > low ? (mean / 2 - low / 2) / (high / 2 - low / 2) : 0;
    return levels[Math.min(levels.length - 1, Math.floor(part * levels.length))] ?? "";
  };
  return means
    .map((mean) => (mean === undefined ? " " : Number.isFinite(mean) ? height(mean) : notFiniteMark(ascii)))
    .join("")
    .trimEnd();
}

/** The mark of a column with NaN or infinity. */
export const notFiniteMark = (ascii: boolean): string => (ascii ? "x" : "×");

/** The mean of each column: undefined without values, NaN where one is not finite. */
function columnMeans(points: readonly Point[], width: number): readonly (number | undefined)[] {
  const steps = points.map(({ step }) => step);
  const first = steps.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY);
  const last = steps.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY);
  // A short series takes no more columns than it has places.
  const places = Math.min(width, new Set(steps).size);
  const sums = Array.from({ length: places }, () => ({ sum: 0, count: 0 }));
  for (const { step, value } of points) {
    const part = last > first ? (step - first) / (last - first) : 0;
    const column = sums[Math.min(places - 1, Math.floor(part * places))];
    if (!column) continue;
    column.count++;
    // A running mean, which does not overflow as a sum would. NaN stays NaN, and so does what follows infinity.
    column.sum += Number.isFinite(value) ? value / column.count - column.sum / column.count : Number.NaN;
  }
  return sums.map(({ sum, count }) => (count === 0 ? undefined : sum));
}
