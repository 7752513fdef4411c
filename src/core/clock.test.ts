import { describe, expect, it } from "vitest";
import { inTime, Late, manualClock, onAbort, systemClock } from "./clock.ts";

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

describe("a promise with a limit", () => {
  const never = new Promise<never>(() => undefined);

  it("gives its value, and rejects when the time is over or the signal is aborted", async () => {
    expect(await inTime(Promise.resolve(1), 1000)).toBe(1);
    await expect(inTime(never, 1)).rejects.toBeInstanceOf(Late);
    const controller = new AbortController();
    const waiting = inTime(never, undefined, controller.signal);
    controller.abort("enough");
    await expect(waiting).rejects.toBe("enough");
    await expect(inTime(never, 1000, controller.signal)).rejects.toBe("enough");
  });
});

describe("onAbort", () => {
  it("calls with the reason, at once where the signal is aborted, and not after its release", () => {
    const reasons: unknown[] = [];
    const controller = new AbortController();
    onAbort(controller.signal, () => reasons.push("released"))();
    onAbort(controller.signal, (reason) => reasons.push(reason));
    controller.abort("first");
    onAbort(controller.signal, (reason) => reasons.push(`again ${reason}`));
    onAbort(undefined, () => reasons.push("never"))();
    expect(reasons).toEqual(["first", "again first"]);
  });
});
