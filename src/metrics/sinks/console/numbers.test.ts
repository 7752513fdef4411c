import { describe, expect, it } from "vitest";
import { amountOf, durationText, rateText, secondsText, significant } from "./numbers.ts";

describe("significant", () => {
  it.each([
    [0.123456, "0.1235", "0.1235"],
    [0.98, "0.9800", "0.98"],
    [-0.5, "-0.5000", "-0.5"],
    [98.1, "98.10", "98.1"],
    [999.96, "1000", "1000"],
    [9999.7, "10000", "10000"],
    [12345.678, "12346", "12346"],
    [1234567.8, "1.235e+6", "1.235e+6"],
    [2_000_000.5, "2.000e+6", "2e+6"],
    [0.0001, "0.0001000", "0.0001"],
    [0.00001, "1.000e-5", "1e-5"],
    [0, "0", "0"],
    [-0, "0", "0"],
    [1_234_567, "1234567", "1234567"],
    [12_345_678, "1.235e+7", "1.235e+7"],
    [100, "100", "100"],
    [Number.NaN, "NaN", "NaN"],
    [Number.POSITIVE_INFINITY, "inf", "inf"],
    [Number.NEGATIVE_INFINITY, "-inf", "-inf"],
  ])("writes %f as %s, and without zeros at its end as %s", (value, padded, short) => {
    expect(significant(value, { zeros: true })).toBe(padded);
    expect(significant(value, { zeros: false })).toBe(short);
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
    expect(durationText(seconds)).toBe(text);
  });

  it.each([
    [0.0123, "0.0123 s"],
    [12.34, "12.3 s"],
    [75, "75.0 s (1:15)"],
  ])("says that a run took %f seconds as %s", (seconds, text) => {
    expect(secondsText(seconds)).toBe(text);
  });
});

it("counts in the right number", () => {
  expect(amountOf(1, "epochs")).toBe("1 epoch");
  expect(amountOf(2, "epochs")).toBe("2 epochs");
  expect(amountOf(1, "progress")).toBe("1 progress");
});
