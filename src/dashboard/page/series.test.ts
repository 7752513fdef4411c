import { expect, it } from "vitest";
import type { Series } from "../api.ts";
import { append, type CurvePoint, curveOf, extremes, inOrder, refine, smooth, thin } from "./series.ts";

/** A curve of single values at 1, 2, 3, ... */
function curve(...values: (number | null)[]): CurvePoint[] {
  const made: CurvePoint[] = [];
  values.forEach((value, i) => append(made, i + 1, value));
  return made;
}

it("smooths without a pull to zero: a constant stays what it is", () => {
  for (const value of smooth([3, 3, 3, 3], 0.9)) expect(value).toBeCloseTo(3, 12);
});

it("smooths as the exponential moving average, divided by the weights so far", () => {
  // (0.5 * 0.5 * 1 + 0.5 * 4) / 0.75
  expect(smooth([1, 4], 0.5)).toEqual([1, 3]);
  expect(smooth([1, 4, 2], 0)).toEqual([1, 4, 2]);
});

it("passes over values that are not finite when it smooths", () => {
  expect(smooth([1, null, 4], 0.5)).toEqual([1, null, 3]);
  expect(smooth([null, null], 0.5)).toEqual([null, null]);
});

it("keeps curves of up to twice the limit as they are", () => {
  const exact = curve(1, 2, 3, 4);
  expect(thin(exact, 2)).toBe(exact);
});

it("thins pairs to their last place, extremes and weighted mean", () => {
  const [first, ...others] = curve(1, 3, 5, null, null, null, 7);
  const thinned = thin([{ ...first, weight: 3 } as CurvePoint, ...others], 3);
  expect(thinned.map(({ x }) => x)).toEqual([2, 4, 6, 7]);
  expect(thinned.map(({ mean }) => mean)).toEqual([1.5, 5, null, 7]);
  expect(thinned.map(({ min }) => min)).toEqual([1, 5, null, 7]);
  expect(thinned.map(({ max }) => max)).toEqual([3, 5, null, 7]);
  expect(thinned.map(({ weight }) => weight)).toEqual([4, 1, 1, 1]);
});

it("keeps extremes and the mean of 100,000 live values in at most twice the limit", () => {
  let made: CurvePoint[] = [];
  for (let i = 1; i <= 100_000; i += 1) {
    append(made, i, i === 50_001 ? -1000 : i % 10);
    made = thin(made, 600);
  }
  expect(made.length).toBeLessThanOrEqual(1200);
  expect(made.length).toBeGreaterThan(500);
  expect(made.at(-1)?.x).toBe(100_000);
  expect(extremes(made)).toMatchObject({ min: -1000, max: 9 });
  const total = made.reduce((sum, { mean, weight }) => sum + (mean ?? 0) * weight, 0);
  expect(total / 100_000).toBeCloseTo(4.5 - 1001 / 100_000, 6);
});

it("takes a live value once, however often it comes", () => {
  const made = curve(1, 2);
  expect(append(made, 2, 2)).toBe(false);
  expect(append(made, 1, 9)).toBe(false);
  expect(append(made, 3, 3)).toBe(true);
  expect(made.map(({ mean }) => mean)).toEqual([1, 2, 3]);
});

it("takes a late value at its place, unless a point for several has it already", () => {
  const made = curve(1, 2);
  expect(append(made, 1.5, 7)).toBe(true);
  expect(made.map(({ x }) => x)).toEqual([1, 1.5, 2]);
  expect(made.map(({ max }) => max)).toEqual([1, 7, 2]);
  const several = made.map((point) => ({ ...point, weight: 10 }));
  expect(append(several, 1.7, 7)).toBe(false);
});

it("puts a finer part in place of the points that it covers", () => {
  const whole = curve(1, 2, 3, 4, 5);
  const part = [2, 2.5, 3].map((x, i): CurvePoint => ({ x, min: 7 + i, max: 7 + i, mean: 7 + i, weight: 1 }));
  expect(refine(whole, part).map(({ x }) => x)).toEqual([1, 2, 2.5, 3, 4, 5]);
  expect(refine(whole, part).map(({ mean }) => mean)).toEqual([1, 7, 8, 9, 4, 5]);
  expect(refine(whole, [])).toBe(whole);
  expect(refine([], part)).toEqual(part);
});

it("counts time from the origin, and says the extremes of what is finite", () => {
  const series: Series = {
    run: "a",
    key: "train/loss",
    x: [1010, 1020, 1030],
    min: [1, null, 2],
    max: [4, null, 3],
    mean: [2, null, 2.5],
    values: 30,
    notFinite: 10,
  };
  const made = curveOf(series, 1000);
  expect(made.map(({ x }) => x)).toEqual([10, 20, 30]);
  expect(made.map(({ weight }) => weight)).toEqual([10, 10, 10]);
  expect(extremes(made)).toEqual({ last: 2.5, min: 1, max: 4 });
  expect(extremes(curve(null))).toBeUndefined();
});

it("orders categories: train first, others by name, the machine last", () => {
  const given = ["time", "health", "evaluation", "system", "curriculum", "rollout", "train", "validation"];
  const order = ["train", "validation", "rollout", "evaluation", "curriculum", "health", "system", "time"];
  expect(inOrder(given)).toEqual(order);
});
