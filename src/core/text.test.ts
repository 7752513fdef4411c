import { describe, expect, it } from "vitest";
import { amountText, bytesText, countText, numberText, singular, tableLines } from "./text.ts";

describe("tableLines", () => {
  it("aligns columns, to the left or to the right, without spaces at the end", () => {
    const rows = [
      ["engine", "ms", "kind"],
      ["xla", "1.5", "cpu"],
      ["wasm", "12", ""],
    ];
    expect(tableLines(rows)).toEqual(["engine  ms   kind", "xla     1.5  cpu", "wasm    12"]);
    expect(tableLines(rows, { right: [1] })).toEqual([
      "engine   ms  kind",
      "xla     1.5  cpu",
      "wasm     12",
    ]);
  });

  it("takes rows of different lengths", () => {
    expect(tableLines([["a"], ["bb", "c"], []])).toEqual(["a", "bb  c", ""]);
  });

  it("counts columns of the terminal, escapes control characters and cuts long cells", () => {
    expect(tableLines([["损失", "a"], ["\x1b[2J", "b"], ["loss"]], { longest: 4 })).toEqual([
      "损失     a",
      "\\x1b[2J  b",
      "loss",
    ]);
    expect(tableLines([["abcdef", "x"]], { longest: 3 })).toEqual(["abc... (6 characters)  x"]);
  });
});

describe("numberText", () => {
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
  ])("writes %f as %s with its zeros, and as %s without", (value, padded, short) => {
    expect(numberText(value, { zeros: true })).toBe(padded);
    expect(numberText(value)).toBe(short);
  });

  it.each([
    [0.123456, "0.12346"],
    [123456.7, "123457"],
    [-0.000123456, "-0.00012346"],
    [1.5e-9, "1.5e-9"],
    [3.14e25, "3.14e+25"],
  ])("writes %f with five digits as %s", (value, text) => {
    expect(numberText(value, { digits: 5 })).toBe(text);
  });
});

it("counts things", () => {
  expect(countText(1234567)).toBe("1,234,567");
  expect(amountText(1, "epochs")).toBe("1 epoch");
  expect(amountText(1200, "updates")).toBe("1,200 updates");
  expect(singular("progress")).toBe("progress");
});

it.each([
  [0, "0 B"],
  [999, "999 B"],
  [1500, "1.5 kB"],
  [2_000_000_000, "2.0 GB"],
  [3e17, "300000.0 TB"],
])("%d bytes are %s", (bytes, text) => {
  expect(bytesText(bytes)).toBe(text);
});
