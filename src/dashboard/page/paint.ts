// Curves over the scales of a uPlot: bands from the smallest to the largest values, lines, marks.
import uPlot from "uplot";
import { formatDuration } from "./format.ts";
import { type Curve, placeOf } from "./series.ts";
import { view } from "./view.ts";

/** A curve of a plot: a metric of a run. `colour` counts through the palette of style.css. */
export interface Line {
  readonly run: string;
  readonly key: string;
  readonly label: string;
  readonly colour: number;
  /** Where the run began, in milliseconds since 1970: time is counted from there. */
  readonly startedAt: number;
  /** True where hiding the run hides the curve. */
  readonly hides: boolean;
}

export type Range = readonly [from: number, to: number];

/** A curve as it is painted: `values` are the smoothed means. */
export interface Painted {
  readonly line: Line;
  readonly curve: Curve;
  readonly values: readonly (number | null)[];
}

/** True for values that have a place: a logarithm needs a positive one. */
const hasPlace = (value: number | null | undefined, log: boolean): value is number =>
  value != null && (!log || value > 0);

/** The smallest and the largest value of what is seen, with room around. */
export function extent(painted: readonly Painted[], [from, to]: Range, log: boolean): [number, number] {
  let [min, max] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const { curve } of painted)
    for (let i = placeOf(curve.x, from); (curve.x[i] ?? Number.POSITIVE_INFINITY) <= to; i += 1) {
      const [low, high] = [curve.min[i], curve.max[i]];
      if (hasPlace(low, log)) min = Math.min(min, low);
      if (hasPlace(high, log)) max = Math.max(max, high);
    }
  if (min > max) return log ? [1, 10] : [0, 1];
  const [low, high] = log ? uPlot.rangeLog(min, max, 10, false) : uPlot.rangeNum(min, max, 0.1, true);
  return [low ?? min, high ?? max];
}

export function paint(u: uPlot, painted: readonly Painted[], colourOf: (name: string) => string): void {
  const { ctx, bbox, scales } = u;
  const { smoothing, run, log } = view.peek();
  const [ratio, bottom] = [uPlot.pxRatio, bbox.top + bbox.height];
  const y = (value: number | null | undefined) =>
    hasPlace(value, log) ? u.valToPos(value, "y", true) : bottom;
  const visible = painted.map(({ line, curve, values }) => ({
    ...{ line, curve, values, colour: colourOf(`--curve-${line.colour % 8}`) },
    x: (i: number) => u.valToPos(curve.x[i] ?? 0, "x", true),
    // With a point before and one after what is seen, to which lines lead.
    from: Math.max(0, placeOf(curve.x, scales.x?.min ?? 0) - 1),
    to: Math.min(curve.x.length - 1, placeOf(curve.x, scales.x?.max ?? 0)),
  }));
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  ctx.globalAlpha = 0.18;
  for (const { curve, colour, x, from, to } of visible) {
    ctx.fillStyle = colour;
    ctx.beginPath();
    for (let start = from, i = from; i <= to + 1; i += 1) {
      if (i <= to && hasPlace(curve.max[i], log)) continue;
      for (let j = start; j < i; j += 1) ctx[j === start ? "moveTo" : "lineTo"](x(j), y(curve.max[j]));
      for (let j = i - 1; j >= start; j -= 1) ctx.lineTo(x(j), y(curve.min[j]));
      start = i + 1;
    }
    ctx.fill();
  }
  ctx.lineJoin = "round";
  for (const { line, curve, values, colour, x, from, to } of visible) {
    const stroke = (those: readonly (number | null)[], width: number, alpha: number) => {
      ctx.globalAlpha = alpha;
      ctx.lineWidth = width * ratio;
      ctx.beginPath();
      let open = false;
      for (let i = from; i <= to; i += 1) {
        const has = hasPlace(those[i], log);
        if (has) ctx[open ? "lineTo" : "moveTo"](x(i), y(those[i]));
        open = has;
      }
      ctx.stroke();
    };
    ctx.strokeStyle = colour;
    ctx.fillStyle = colour;
    ctx.setLineDash(line.colour < 8 ? [] : [6 * ratio, 3 * ratio]);
    if (smoothing > 0) stroke(curve.mean, 1, 0.35);
    // The run in front stands out among several.
    stroke(values, line.hides && painted.length > 1 && line.run === run ? 2.5 : 1.5, 1);
    // Few values are points, one alone could not be seen otherwise.
    const size = 4 * ratio;
    for (let i = from; i <= to && to - from < 40; i += 1)
      if (hasPlace(values[i], log)) ctx.fillRect(x(i) - size / 2, y(values[i]) - size / 2, size, size);
  }
  // Crosses where no value is finite.
  const [size, middle] = [3 * ratio, bottom - 5 * ratio];
  ctx.strokeStyle = colourOf("--bad");
  ctx.setLineDash([]);
  ctx.beginPath();
  for (const { curve, x, from, to } of visible)
    for (let i = from; i <= to; i += 1)
      for (const side of curve.mean[i] === null ? [-size, size] : []) {
        ctx.moveTo(x(i) - size, middle - side);
        ctx.lineTo(x(i) + size, middle + side);
      }
  ctx.stroke();
  ctx.restore();
}

/** Numbers of an axis of milliseconds, at places that people count time by. */
export const timeAxis: uPlot.Axis = {
  incrs: [
    ...[1, 2, 5, 10, 20, 50, 100, 200, 500],
    ...[1000, 60_000].flatMap((unit) => [1, 2, 5, 10, 20, 30].map((n) => n * unit)),
    ...[1, 2, 4, 6, 12, 24, 48, 120, 240, 480, 1200].map((n) => n * 3_600_000),
  ],
  values: (_, splits) => splits.map((x) => formatDuration(x)),
};
