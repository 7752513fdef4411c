import { expect, it } from "vitest";
import { ageText, callText, dateText, durationText, timeText } from "./text.ts";

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;

it.each([
  [0, "0 ms"],
  [999.9, "999 ms"],
  [1000, "1.0 s"],
  [9999, "9.9 s"],
  [59_999, "59 s"],
  [minute, "1 min 00 s"],
  [hour - 1, "59 min 59 s"],
  [hour + 5 * minute, "1 h 05 min"],
  [24 * hour, "1 d 0 h"],
  [53 * hour, "2 d 5 h"],
  [-5, "0 s"],
  [Number.NaN, "0 s"],
])("%d ms are %s", (milliseconds, text) => {
  expect(durationText(milliseconds)).toBe(text);
});

it("says how long ago in one unit", () => {
  expect([4200, 5 * minute + 30 * second, 3.9 * hour, 50 * hour].map(ageText)).toEqual([
    "4.2 s",
    "5 min",
    "3 h",
    "2 d",
  ]);
});

it("says how long short calls took", () => {
  expect([0.0123456, 0.99, 12.345, 1500].map(callText)).toEqual(["12.3 us", "990 us", "12.3 ms", "1.5 s"]);
});

it("writes moments in local time", () => {
  const moment = new Date(2026, 0, 2, 3, 4, 5).getTime();
  expect([dateText(moment), timeText(moment)]).toEqual(["2026-01-02 03:04", "03:04:05"]);
});
