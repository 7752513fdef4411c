import { expect, it } from "vitest";
import { amountText, countText, numberText } from "./numbers.ts";

it.each([
  [0.123456, "0.12346"],
  [2, "2"],
  [1234567, "1234567"],
  [1234567.8, "1234600"],
  [0.001, "0.001"],
  [-0.000123456, "-1.2346e-4"],
  [1.5e-9, "1.5e-9"],
  [3.14e25, "3.14e+25"],
  [Number.NaN, "NaN"],
  [Number.POSITIVE_INFINITY, "inf"],
  [Number.NEGATIVE_INFINITY, "-inf"],
])("%d is %s", (value, text) => {
  expect(numberText(value)).toBe(text);
});

it("counts things", () => {
  expect([countText(1234567), amountText(1, "epochs"), amountText(1200, "updates")]).toEqual([
    "1,234,567",
    "1 epoch",
    "1,200 updates",
  ]);
});
