import { expect, it } from "vitest";
import { formatAge, formatDuration, formatNumber, formatTick } from "./format.ts";

it.each([
  [0, "0"],
  [0.123456789, "0.12346"],
  [-1234.5678, "-1,234.6"],
  [5000, "5,000"],
  [123456789, "123,456,789"],
  [0.00001234, "0.00001234"],
  [1.5e-7, "1.5e-7"],
  [2.5e12, "2.5e12"],
  [1.23456e21, "1.235e21"],
  [Number.NaN, "not finite"],
  [Number.NEGATIVE_INFINITY, "-∞"],
  [null, "not finite"],
  [undefined, ""],
])("shows the number %s as %s", (value, text) => expect(formatNumber(value)).toBe(text));

it.each([
  [1500, "1,500"],
  [250_000, "250K"],
  [205_000_000, "205M"],
  [9.207e29, "9.207e29"],
  [-1e18, "-1e18"],
])("shows %s at an axis as %s", (value, text) => expect(formatTick(value)).toBe(text));

it.each([
  [-5, "0 ms"],
  [850, "850 ms"],
  [4250, "4.2 s"],
  [59_999, "59 s"],
  [185_000, "3 min 5 s"],
  [7_200_000, "2 h"],
  [7_800_000, "2 h 10 min"],
  [273_600_000, "3 d 4 h"],
])("shows %s milliseconds as %s", (ms, text) => expect(formatDuration(ms)).toBe(text));

it.each([
  [500, "now"],
  [7100, "7 s ago"],
  [12_000, "12 s ago"],
  [200_000, "3 min ago"],
  [7_300_000, "2 h ago"],
  [400_000_000, "4 d ago"],
])("shows an age of %s milliseconds as %s", (ms, text) => expect(formatAge(ms)).toBe(text));
