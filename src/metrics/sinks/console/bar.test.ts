import { describe, expect, it } from "vitest";
import { barRow } from "./bar.ts";
import { progressAt } from "./records.test-support.ts";
import { painted, rowWidth, styleOf } from "./style.ts";

const blocks = styleOf({ color: false, unicode: true });
const ascii = styleOf({ color: false, unicode: false });
const drawn = (...args: Parameters<typeof barRow>): string => painted(barRow(...args), args[2]);

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
