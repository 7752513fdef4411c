import { createHash } from "node:crypto";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { extractLibrary, promisedHash } from "./wheel.ts";
import { makeZip } from "./zip-writer.ts";

const folder = mkdtempSync(join(tmpdir(), "espalier-wheel-"));
afterAll(() => rmSync(folder, { recursive: true }));

const library = Buffer.concat([Buffer.from("\x7fELF"), Buffer.alloc(5000, 7)]);
const digest = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest();

let count = 0;
const wheel = (content: Uint8Array, promised: Uint8Array) => {
  const path = join(folder, `${count++}.whl`);
  const record = `x/lib.so,sha256=${digest(promised).toString("base64url")},${promised.length}\nx/RECORD,,\n`;
  writeFileSync(
    path,
    makeZip([
      { name: "x/lib.so", content, deflate: true },
      { name: "x_y-1.2.3.dist-info/RECORD", content: Buffer.from(record) },
    ]),
  );
  return path;
};

const invalid = (message: RegExp) =>
  expect.objectContaining({ code: "WHEEL_INVALID", message: expect.stringMatching(message) });

describe("extractLibrary", () => {
  it("copies the library and tells its hash and version", async () => {
    const target = join(folder, "good.so");
    const extracted = await extractLibrary(wheel(library, library), "x/lib.so", target);
    expect(readFileSync(target)).toEqual(library);
    expect(extracted).toEqual({ bytes: 5004, sha256: digest(library).toString("hex"), version: "1.2.3" });
  });

  it("refuses a library that is not the one the wheel promises", async () => {
    const other = Buffer.concat([library, Buffer.from("!")]);
    const target = join(folder, "other.so");
    await expect(extractLibrary(wheel(other, library), "x/lib.so", target)).rejects.toThrow(
      invalid(/promises/),
    );
  });

  it("refuses what is no library at all", async () => {
    const text = Buffer.from("#!/bin/sh");
    await expect(extractLibrary(wheel(text, text), "x/lib.so", join(folder, "t.so"))).rejects.toThrow(
      invalid(/not a shared library/),
    );
  });

  it("names what is missing", async () => {
    await expect(extractLibrary(wheel(library, library), "y.so", join(folder, "y.so"))).rejects.toThrow(
      invalid(/has no y\.so/),
    );
    expect(existsSync(join(folder, "y.so"))).toBe(false);
  });

  it("stops when it is told to", async () => {
    const stopped = AbortSignal.abort();
    const target = join(folder, "stopped.so");
    await expect(extractLibrary(wheel(library, library), "x/lib.so", target, stopped)).rejects.toThrow(
      /abort/i,
    );
  });
});

describe("promisedHash", () => {
  it("finds quoted and plain names, and nothing for files without a hash", () => {
    const record = `"a,b.so",sha256=AAEC,3\r\nc.so,sha256=_-8,2\nRECORD,,\n`;
    expect(promisedHash(record, "a,b.so")).toBe("000102");
    expect(promisedHash(record, "c.so")).toBe("ffef");
    expect(promisedHash(record, "RECORD")).toBeUndefined();
  });
});
