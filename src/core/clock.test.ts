import { describe, expect, it } from "vitest";
import { manualClock, systemClock } from "./clock.ts";

describe("manualClock", () => {
  it("stands still until told to move", () => {
    const clock = manualClock();
    expect([clock.now(), clock.now()]).toEqual([0, 0]);
    clock.advance(1500);
    clock.advance(0.5);
    expect(clock.now()).toBe(1500.5);
  });

  it("moves the wall clock along, from its own start", () => {
    const clock = manualClock(1_000_000);
    clock.advance(250);
    expect(clock.wall()).toBe(1_000_250);
    expect(clock.now()).toBe(250);
  });

  it("is independent of other clocks", () => {
    const one = manualClock();
    const other = manualClock();
    one.advance(10);
    expect(other.now()).toBe(0);
  });
});

describe("systemClock", () => {
  it("never goes backwards", () => {
    const readings = Array.from({ length: 1000 }, () => systemClock.now());
    expect(readings).toEqual(readings.toSorted((a, b) => a - b));
  });

  it("labels with the date", () => {
    const before = Date.now();
    const wall = systemClock.wall();
    expect(wall).toBeGreaterThanOrEqual(before);
    expect(wall).toBeLessThanOrEqual(Date.now());
  });
});
