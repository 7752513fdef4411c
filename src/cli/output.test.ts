import { Writable } from "node:stream";
import { describe, expect, it } from "vitest";
import { outputTo } from "./terminal.ts";

/** A stream whose writing fails in this way. */
function failing(code: string): NodeJS.WriteStream {
  const stream = new Writable({
    write: (_chunk, _encoding, done) => done(Object.assign(new Error(`write ${code}`), { code })),
  });
  return stream as unknown as NodeJS.WriteStream;
}

describe("outputTo", () => {
  it("takes a reader that has gone for an end, not a failure", async () => {
    const out = outputTo(failing("EPIPE"));
    await out.write("x");
    expect(out.gone.aborted).toBe(true);
    await out.write("y");
  });

  it("fails where the stream does", async () => {
    const out = outputTo(failing("ENOSPC"));
    await expect(out.write("x")).rejects.toThrow("ENOSPC");
    await expect(out.write("y")).rejects.toThrow("ENOSPC");
  });

  it("waits until there is room", async () => {
    const taken: string[] = [];
    let letGo = (): void => undefined;
    const stream = new Writable({
      highWaterMark: 1,
      write: (chunk, _encoding, done) => {
        taken.push(String(chunk));
        letGo = done;
      },
    });
    const out = outputTo(stream as unknown as NodeJS.WriteStream);
    let written = false;
    const writing = out.write("x").then(() => {
      written = true;
    });
    await Promise.resolve();
    expect([taken, written]).toEqual([["x"], false]);
    letGo();
    await writing;
    expect(written).toBe(true);
  });
});
