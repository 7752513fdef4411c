import { describe, expect, it } from "vitest";
import { manualClock } from "../../../core/index.ts";
import { directWriter, pipeBehind } from "./direct.ts";
import { Pipe } from "./screen.test-support.ts";

/** A pipe with room for `room` bytes, from which `read` are taken in each millisecond. */
function pipe(room: number, read: number) {
  const clock = manualClock();
  let taken = Buffer.alloc(0);
  let free = room;
  const write = directWriter(1, {
    now: () => clock.now(),
    sleep(milliseconds) {
      clock.advance(milliseconds);
      free = Math.min(room, free + read * milliseconds);
    },
    writeSync(_file, bytes, from) {
      const part = Buffer.from(bytes.subarray(from, from + free));
      if (part.length === 0) throw Object.assign(new Error("full"), { code: "EAGAIN" });
      free -= part.length;
      taken = Buffer.concat([taken, part]);
      return part.length;
    },
  });
  return { clock, write, taken: () => taken.toString() };
}

describe("writing directly", () => {
  it("waits for a reader that is behind", () => {
    const { write, taken, clock } = pipe(10, 1);
    const text = "äbc".repeat(100);
    expect(write(text).length).toBe(0);
    expect(taken()).toBe(text);
    expect(clock.now()).toBeGreaterThan(300);
  });

  it("gives up on a reader that has stopped, and says what it did not take", () => {
    const { write, taken, clock } = pipe(4, 0);
    expect(Buffer.from(write("abcdef")).toString()).toBe("ef");
    expect(taken()).toBe("abcd");
    expect(clock.now()).toBeGreaterThanOrEqual(5000);
    expect(clock.now()).toBeLessThan(5100);
  });

  it("then waits for no more than a hundredth of the time", () => {
    const { write, clock } = pipe(0, 0);
    write("a");
    const start = clock.now();
    for (let i = 0; i < 100; i++) {
      clock.advance(1000);
      write("a");
    }
    expect(clock.now() - start - 100_000).toBeLessThan(100 * (10 + 16));
  });

  it("raises what is not a full pipe", () => {
    const write = directWriter(1, {
      now: () => 0,
      sleep: () => undefined,
      writeSync: () => {
        throw Object.assign(new Error("gone"), { code: "EPIPE" });
      },
    });
    expect(() => write("a")).toThrow("gone");
  });

  it("is for pipes alone", () => {
    expect(pipeBehind(new Pipe())).toBe(undefined);
    expect(pipeBehind(Object.assign(new Pipe(), { fd: 1 }))).toBe(undefined);
  });
});
