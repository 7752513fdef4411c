import { describe, expect, it } from "vitest";
import type { MetricRecord } from "../../record.ts";
import { chooser, followWindows } from "./entries.ts";
import { progressAt, recordOf, windowOf } from "./records.test-support.ts";
import {
  barRow,
  clockText,
  endingRow,
  firstWidths,
  painted,
  rateText,
  rowWidth,
  secondsText,
  styleOf,
  tableRows,
} from "./rows.ts";

const blocks = styleOf({ color: false, unicode: true });
const ascii = styleOf({ color: false, unicode: false });
const drawn = (...args: Parameters<typeof barRow>): string => painted(barRow(...args), args[2]);

/** The tables of a run, one for each window. */
function tables(windows: readonly (readonly MetricRecord[])[], columns = 79, limit = 12): readonly string[] {
  const follow = followWindows();
  const choose = chooser({ important: [], limit });
  const widths = firstWidths();
  return follow(windows.flat()).map((window) =>
    tableRows(window, choose(window.entries), columns, blocks, widths)
      .map((row) => painted(row, blocks))
      .join("\n"),
  );
}

describe("the table", () => {
  it("groups by category and says what changed", () => {
    const [first, second] = tables([
      windowOf(1000, { "train/loss": 0.5, "valid/loss": 0.6, "train/lr": 0.001, "valid/accuracy": 0.5 }),
      windowOf(2000, { "train/loss": 0.25, "valid/loss": 0.7, "train/lr": 0.001, "valid/accuracy": 0.98 }),
    ]);
    expect(first).toBe(
      [
        "step 1000",
        "  train  loss       0.5000     lr       0.001000",
        "  valid  loss       0.6000     accuracy   0.5000",
      ].join("\n"),
    );
    expect(second).toBe(
      [
        "step 2000",
        "  train  loss       0.2500 ↓   lr       0.001000 =",
        "  valid  loss       0.7000 ↑   accuracy   0.9800 ↑",
      ].join("\n"),
    );
  });

  it("keeps its columns when the numbers become shorter", () => {
    const [, second] = tables([
      windowOf(1, { "train/loss": -1.234e-7, "train/accuracy": 0.5 }),
      windowOf(2, { "train/loss": 1 }),
    ]);
    expect(second).toBe(["step 2", "  train  loss             1 ↑"].join("\n"));
  });

  it("shows units beside the numbers", () => {
    const records = [recordOf("train/loss", 0.5, 1), recordOf("train/step", 12.5, 1, { unit: "ms" })];
    expect(tables([records])).toEqual([
      ["step 1", "  train  loss   0.5000        step    12.50   ms"].join("\n"),
    ]);
  });

  it("makes numbers that are not finite stand out, without colours too", () => {
    const records = [
      recordOf("train/loss", Number.NaN, 1, { count: 1000, notFinite: 3 }),
      recordOf("train/ratio", Number.POSITIVE_INFINITY, 1),
      recordOf("train/lr", 0.5, 1),
    ];
    expect(tables([records])).toEqual([
      [
        "step 1",
        "  train  loss       NaN !   ratio      inf !   lr      0.5000",
        "  ! train/loss: 3 of 1000 values not finite",
        "  ! train/ratio: not finite",
      ].join("\n"),
    ]);
  });

  it("does not say of a thousand metrics that they are not finite", () => {
    const records = Array.from({ length: 1000 }, (_, i) => recordOf(`train/m${i}`, Number.NaN, 1));
    const rows = tables([records])[0]?.split("\n") ?? [];
    expect(rows.slice(-2)).toEqual(["  ! train/m3: not finite", "  ! and 8 more not finite"]);
    expect(rows).toContain("         and 988 more");
  });

  it("shows texts, histograms, late values and other axes in rows of their own", () => {
    const histogram = { edges: [0, 1], counts: [4], min: 0, max: 1, sum: 2, sumSquares: 1, count: 4 };
    const records = [
      recordOf("train/loss", 0.5, 1000),
      recordOf("train/loss", 0.75, 400, { wall: recordOf("", 0, 1000).wall }),
      ...[
        recordOf("train/note", "two\nlines", 1000),
        recordOf("train/weights", histogram, 1000),
        recordOf("valid/f1", 0.5, 3, { axis: "epochs", wall: recordOf("", 0, 1000).wall }),
      ],
    ];
    expect(tables([records])).toEqual([
      [
        "step 1000",
        "  train  loss      0.5000",
        '         note    "two\\nlines"',
        "         weights mean 0.5 in [0, 1]",
        "         loss      0.7500   (late, step 400)",
        "  valid  f1        0.5000   (epoch 3)",
      ].join("\n"),
    ]);
  });

  it("says late of what comes a window later", () => {
    const [, second] = tables([
      windowOf(1000, { "train/loss": 0.5 }),
      [
        recordOf("train/loss", 0.4, 2000),
        recordOf("train/loss", 0.6, 900, { wall: recordOf("", 0, 2000).wall }),
      ],
    ]);
    expect(second).toContain("0.4000 ↓");
    expect(second).toContain("0.6000   (late, step 900)");
  });

  it.each([20, 30, 40, 60, 79, 119, 199])("is never wider than %i columns", (columns) => {
    const long = "a_metric_whose_name_is_longer_than_any_column_there_is";
    const records = [
      ...windowOf(1, {
        "train/loss": 0.5,
        [`a_long_category_name/${long}_1`]: 1,
        [`train/${long}_2`]: -1.5e-200,
      }),
      recordOf("train/note", "words ".repeat(100), 1),
      recordOf("损失/损失函数", Number.NaN, 1, { unit: "kilometres per hour" }),
    ];
    const [window] = followWindows()(records);
    if (!window) throw new Error("no window");
    const rows = tableRows(window, { entries: window.entries, more: 3 }, columns, blocks, firstWidths());
    for (const row of rows) expect(rowWidth(row)).toBeLessThanOrEqual(columns);
    const text = rows.map((row) => painted(row, blocks)).join("\n");
    if (columns < 30) return;
    expect(text).toContain("0.5000");
    expect(text).toContain("NaN");
  });

  it("tells names apart that begin alike", () => {
    const name = (end: string): string => `train/gradient_norm_of_the_first_dense_layer_${end}`;
    const [table = ""] = tables([windowOf(1, { [name("mean")]: 1, [name("max")]: 2 })]);
    expect(table).toContain("layer_mean ");
    expect(table).toContain("layer_max ");
  });
});

describe("the bar", () => {
  it("says what is done, the share, the rate and the time left", () => {
    expect(drawn(progressAt(1000), 79, blocks)).toBe(
      "steps 1000/4000  ██████▎░░░░░░░░░░░░░░░░░░   25 %    1.2k steps/s     0:02 left",
    );
    expect(drawn(progressAt(1000), 79, ascii)).toBe(
      "steps 1000/4000  [#####..................]   25 %    1.2k steps/s     0:02 left",
    );
  });

  it("without a total is a counter and the rate", () => {
    expect(drawn(progressAt(1000, { total: undefined, left: undefined }), 79, blocks)).toBe(
      "steps 1000    1.2k steps/s",
    );
  });

  it("knows neither rate nor time at first", () => {
    expect(drawn(progressAt(0, { rate: undefined, left: undefined }), 40, ascii)).toBe(
      "steps    0/4000  [..............]    0 %",
    );
  });

  it("keeps every part in its place as the numbers grow", () => {
    const widths = [0, 9, 99, 999, 4000].map((done) =>
      rowWidth(barRow(progressAt(done, { rate: 10 ** (done % 5), left: done * 9 }), 79, blocks)),
    );
    expect(new Set(widths)).toEqual(new Set([79]));
  });

  it.each([
    [60, "steps 1000/4000  █████▌░░░░░░░░░░░░░░░░   25 %     0:02 left"],
    [40, "steps 1000/4000   25 %     0:02 left"],
    [30, "steps 1000/4000   25 %"],
    [10, "   25 %"],
    [3, "25 "],
  ])("leaves parts out where there are %i columns", (columns, text) => {
    expect(drawn(progressAt(1000), columns, blocks)).toBe(text);
  });

  it("is never wider than asked", () => {
    for (let columns = 1; columns < 120; columns++)
      for (const style of [blocks, ascii])
        for (const total of [4000, undefined, 1e12])
          expect(rowWidth(barRow(progressAt(1000, { total }), columns, style))).toBeLessThanOrEqual(columns);
  });

  it.each([
    [{ done: 5000 }, "100 %"],
    [{ done: 0, total: 0 }, "100 %"],
    [{ done: Number.NaN }, "0 %"],
    [{ done: 3999.9 }, "99 %"],
  ])("stays a share with %j: %s", (others, share) => {
    expect(drawn(progressAt(0, others), 79, ascii)).toContain(` ${share}`);
  });

  it("counts seconds as a clock does", () => {
    expect(drawn(progressAt(65, { unit: "seconds", total: 600 }), 79, ascii)).toMatch(
      /^seconds {2}1:05\/10:00/,
    );
  });
});

describe("rateText", () => {
  it.each([
    [0, "0.0"],
    [0.00012, "1e-4"],
    [0.0123, "0.012"],
    [0.25, "0.25"],
    [0.999, "1.0"],
    [12.34, "12.3"],
    [999.96, "1.0k"],
    [1234, "1.2k"],
    [12_345, "12.3k"],
    [34_000_000, "34.0M"],
    [Number.NaN, "?"],
    [Number.POSITIVE_INFINITY, "?"],
  ])("writes %f as %s", (rate, text) => {
    expect(rateText(rate)).toBe(text);
  });
});

describe("times", () => {
  it.each([
    [0, "0:00"],
    [7.4, "0:07"],
    [59.6, "1:00"],
    [754, "12:34"],
    [3723, "1:02:03"],
    [183_840, "2d 03:04"],
    [Number.POSITIVE_INFINITY, "?"],
    [-1, "?"],
  ])("shows %f seconds left as %s", (seconds, text) => {
    expect(clockText(seconds)).toBe(text);
  });

  it.each([
    [0.0123, "0.0123 s"],
    [12.34, "12.3 s"],
    [75, "75.0 s (1:15)"],
  ])("says that a run took %f seconds as %s", (seconds, text) => {
    expect(secondsText(seconds)).toBe(text);
  });
});

it("counts in the singular and the plural", () => {
  const counters = { epoch: 0, epochs: 1, batches: 2, updates: 1, samples: 0, steps: 2, seconds: 1 };
  expect(painted(endingRow({ outcome: "completed", counters }), blocks)).toBe(
    "completed: 1 epoch, 2 steps, 1 update in 1.0 s",
  );
});
