import { Writable } from "node:stream";
import { afterEach, describe, expect, it, vi } from "vitest";
import { outletOf } from "./outlet.ts";
import { Pipe } from "./screen.test-support.ts";

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

describe("an outlet", () => {
  it("writes nothing more, and says nothing, once the reader is gone", async () => {
    const warn = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined);
    const stream = failing("EPIPE");
    const outlet = outletOf(stream);
    for (const text of ["a", "b", "c"]) {
      await outlet.write(text);
      await new Promise(setImmediate);
    }
    expect(stream.texts).toEqual(["a", "b"]);
    expect(outlet.blocked).toBe(true);
    await outlet.close();
    expect(warn).not.toHaveBeenCalled();
  });

  it("says once that a stream has failed in another way", async () => {
    const warn = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined);
    const outlet = outletOf(failing("ENOSPC"));
    for (const text of ["a", "b", "c"]) {
      await outlet.write(text);
      await new Promise(setImmediate);
    }
    await outlet.close();
    expect(warn.mock.calls.map(([text]) => text)).toEqual([expect.stringContaining("write ENOSPC")]);
  });

  it("survives a stream that throws", async () => {
    vi.spyOn(process, "emitWarning").mockImplementation(() => undefined);
    const stream = new Pipe();
    stream.write = () => {
      throw new Error("no");
    };
    const outlet = outletOf(stream);
    expect(outlet.write("a")).toBe(undefined);
    expect(outlet.blocked).toBe(true);
    await outlet.close();
  });

  it("writes nothing to a stream that was ended or destroyed", async () => {
    const ended = new Pipe();
    ended.end();
    outletOf(ended).write("a");
    const destroyed = new Pipe();
    destroyed.destroy();
    outletOf(destroyed).write("a");
    expect([ended.written, destroyed.written]).toEqual(["", ""]);
  });

  it("listens to the stream only between its first write and its end", async () => {
    const stream = new Pipe();
    const outlet = outletOf(stream);
    expect(stream.listenerCount("error")).toBe(0);
    outlet.write("a");
    outlet.write("b");
    expect(stream.listenerCount("error")).toBe(1);
    await outlet.close();
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
    const outlet = outletOf(stream);
    const written = outlet.write("longer than four");
    expect(written).toBeInstanceOf(Promise);
    expect(outlet.blocked).toBe(true);
    read?.();
    await written;
    expect(outlet.blocked).toBe(false);
  });

  it("does not wait for ever for a reader that goes away", async () => {
    const stream = new Writable({ highWaterMark: 4, write: () => undefined });
    const outlet = outletOf(stream);
    const written = outlet.write("longer than four");
    stream.destroy(Object.assign(new Error("gone"), { code: "EPIPE" }));
    await written;
    await outlet.close();
  });
});
