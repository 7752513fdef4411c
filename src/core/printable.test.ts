import { describe, expect, it } from "vitest";
import {
  cut,
  cutMiddle,
  padEnd,
  padStart,
  printable,
  printableLines,
  printableText,
  widthOf,
} from "./printable.ts";

describe("printable", () => {
  it.each([
    ["loss", "loss"],
    ["a\nb\tc\rd", "a\\nb\\tc\\rd"],
    ["\x1b[31mred\x07", "\\x1b[31mred\\x07"],
    ["c1 \x9b2J", "c1 \\x9b2J"],
    ["turned \u202egpj", "turned \\u{202e}gpj"],
    ["line\u2028line", "line\\u{2028}line"],
    ["half \ud800 pair", "half \\u{d800} pair"],
    ["größe 损失 😀", "größe 损失 😀"],
  ])("writes %j as %j", (text, expected) => {
    expect(printable(text)).toBe(expected);
  });

  it("keeps the lines of a message", () => {
    expect(printableLines("one\r\ntwo\n\x1bthree")).toEqual(["one", "two", "\\x1bthree"]);
  });
});

describe("long texts", () => {
  it("are cut, and say how long they are", () => {
    expect(printable("x".repeat(1_000_000))).toBe(`${"x".repeat(200)}... (1000000 characters)`);
    expect(printable(`${"x".repeat(199)}😀${"x".repeat(99)}`)).toBe(`${"x".repeat(199)}... (300 characters)`);
    const name = "n".repeat(1_000_000);
    expect(printableText(`first\nhook ${name} failed`)).toMatch(
      /^first\nhook n{1000,1600}\.\.\. \(1000012 characters\) \.\.\.n{100,600} failed$/,
    );
  });
});

describe("widths", () => {
  it("count columns of the terminal, not characters", () => {
    expect(widthOf("abc")).toBe(3);
    expect(widthOf("损失")).toBe(4);
    expect(widthOf("e\u0301")).toBe(1);
    expect(padEnd("损失", 6)).toBe("损失  ");
    expect(padStart("1.5", 6)).toBe("   1.5");
  });

  it.each([
    ["abcdef", 6, "abcdef"],
    ["abcdefg", 6, "abcde…"],
    ["损失函数", 6, "损失…"],
    ["abc", 1, "…"],
    ["abc", 0, ""],
  ])("cuts %s to %i columns: %s", (text, width, expected) => {
    expect(cut(text, width, "…")).toBe(expected);
  });

  it.each([
    ["policy/gradient_norm_mean", 15, "policy/…rm_mean"],
    ["abcdef", 6, "abcdef"],
    ["abcdef", 4, "abc…"],
  ])("cuts the middle of %s to %i columns: %s", (text, width, expected) => {
    expect(cutMiddle(text, width, "…")).toBe(expected);
  });
});
