import { expect, it } from "vitest";
import type { Sweep } from "../api.ts";
import { sweepPlot } from "./sweep-plot.ts";

const sweep = (
  parameters: readonly string[],
  trials: readonly (readonly [values: Readonly<Record<string, string>>, result: number | null])[],
): Sweep => ({
  id: "s",
  metric: "validation/loss",
  parameters,
  trials: trials.map(([values, result], i) => ({ run: `t${i}`, state: "completed", values, result })),
});

it("spreads numbers by their logarithm where they span two decades, evenly otherwise, and words by rank", () => {
  const { axes, lines } = sweepPlot(
    sweep(
      ["rate", "size", "kind"],
      [
        [{ rate: "0.0001", size: "10", kind: "sgd" }, 3],
        [{ rate: "0.01", size: "15", kind: "adam" }, 1],
        [{ rate: "1", size: "20", kind: "lion" }, 2],
      ],
    ),
  );
  expect(axes.map(({ name }) => name)).toEqual(["rate", "size", "kind", "validation/loss"]);
  expect(lines.map(({ at }) => at.map((one) => Number(one?.toFixed(6))))).toEqual([
    [0, 0, 1, 1],
    [0.5, 0.5, 0, 0],
    [1, 1, 0.5, 0.5],
  ]);
  expect(axes[0]?.ticks).toEqual([
    { label: "0.0001", at: 0 },
    { label: "1", at: 1 },
  ]);
  expect(axes[2]?.ticks.map(({ label }) => label)).toEqual(["adam", "lion", "sgd"]);
});

it("puts a single value in the middle, and leaves a gap where a trial has none", () => {
  const { axes, lines } = sweepPlot(
    sweep(
      ["rate", "gone"],
      [
        [{ rate: "1" }, null],
        [{ rate: "1" }, 5],
      ],
    ),
  );
  expect(lines).toEqual([
    { run: "t0", at: [0.5, null, null] },
    { run: "t1", at: [0.5, null, 0.5] },
  ]);
  expect(axes[1]?.ticks).toEqual([]);
});

it("takes values of which one is a word for words", () => {
  const { lines } = sweepPlot(
    sweep(
      ["rate"],
      [
        [{ rate: "10" }, 1],
        [{ rate: "9" }, 2],
        [{ rate: "none" }, 3],
      ],
    ),
  );
  expect(lines.map(({ at }) => at[0])).toEqual([0, 0.5, 1]);
});
