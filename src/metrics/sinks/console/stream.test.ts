import { Writable } from "node:stream";
import { afterEach, describe, expect, it, vi } from "vitest";
import { manualClock } from "../../../core/index.ts";
import { Pipe } from "./screen.test-support.ts";
import { outputTo, pipeOf, pipeWriter } from "./stream.ts";

afterEach(() => {
  vi.restoreAllMocks();
});

/** A stream that fails with `code` from its second write on. */
function failing(code: string): Writable & { readonly texts: string[] } {
  const texts: string[] = [];
  const stream = new Writable({
    write(chunk, _encoding, done) {
      texts.push(String(chunk));
      done(texts.length > 1 ? Object.assign(new Error(`write ${code}`), { code }) : null);
    },
  });
  return Object.assign(stream, { texts });
}

describe("an output", () => {
  it("writes nothing more, and says nothing, once the reader is gone", async () => {
    const warn = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined);
    const stream = failing("EPIPE");
    const output = outputTo(stream);
    for (const text of ["a", "b", "c"]) {
      await output.write(text);
      await new Promise(setImmediate);
    }
    expect(stream.texts).toEqual(["a", "b"]);
    expect(output.blocked).toBe(true);
    await output.close();
    expect(warn).not.toHaveBeenCalled();
  });

  it("says once that a stream has failed in another way", async () => {
    const warn = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined);
    const output = outputTo(failing("ENOSPC"));
    for (const text of ["a", "b", "c"]) {
      await output.write(text);
      await new Promise(setImmediate);
    }
    await output.close();
    expect(warn.mock.calls.map(([text]) => text)).toEqual([expect.stringContaining("write ENOSPC")]);
  });

  it("survives a stream that throws", async () => {
    vi.spyOn(process, "emitWarning").mockImplementation(() => undefined);
    const stream = new Pipe();
    stream.write = () => {
      throw new Error("no");
    };
    const output = outputTo(stream);
    expect(output.write("a")).toBe(undefined);
    expect(output.blocked).toBe(true);
    await output.close();
  });

  it("writes nothing to a stream that was ended or destroyed", async () => {
    const ended = new Pipe();
    ended.end();
    outputTo(ended).write("a");
    const destroyed = new Pipe();
    destroyed.destroy();
    outputTo(destroyed).write("a");
    expect([ended.written, destroyed.written]).toEqual(["", ""]);
  });

  it("listens to the stream only between its first write and its end", async () => {
    const stream = new Pipe();
    const output = outputTo(stream);
    expect(stream.listenerCount("error")).toBe(0);
    output.write("a");
    output.write("b");
    expect(stream.listenerCount("error")).toBe(1);
    await output.close();
    expect(stream.listenerCount("error")).toBe(0);
    expect(stream.writableEnded).toBe(false);
  });

  it("waits for a slow reader, and is blocked meanwhile", async () => {
    let read: (() => void) | undefined;
    const stream = new Writable({
      highWaterMark: 4,
      write(_chunk, _encoding, done) {
        read = done;
      },
    });
    const output = outputTo(stream);
    const written = output.write("longer than four");
    expect(written).toBeInstanceOf(Promise);
    expect(output.blocked).toBe(true);
    read?.();
    await written;
    expect(output.blocked).toBe(false);
  });

  it("does not wait for ever for a reader that goes away", async () => {
    const stream = new Writable({ highWaterMark: 4, write: () => undefined });
    const output = outputTo(stream);
    const written = output.write("longer than four");
    stream.destroy(Object.assign(new Error("gone"), { code: "EPIPE" }));
    await written;
    await output.close();
  });
});

/** A pipe with room for `room` bytes, from which `read` are taken in each millisecond. */
function pipe(room: number, read: number) {
  const clock = manualClock();
  let taken = Buffer.alloc(0);
  let free = room;
  const write = pipeWriter(1, {
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
    const write = pipeWriter(1, {
      now: () => 0,
      sleep: () => undefined,
      writeSync: () => {
        throw Object.assign(new Error("gone"), { code: "EPIPE" });
      },
    });
    expect(() => write("a")).toThrow("gone");
  });

  it("is for pipes alone", () => {
    expect(pipeOf(new Pipe())).toBe(undefined);
    expect(pipeOf(Object.assign(new Pipe(), { fd: 1 }))).toBe(undefined);
  });
});
