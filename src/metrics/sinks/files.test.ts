import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { faultyFiles } from "./faulty-files.test-support.ts";
import { StagedFile, wholeLines } from "./files.ts";

const folder = mkdtempSync(join(tmpdir(), "espalier-staged-"));
afterAll(() => rmSync(folder, { recursive: true }));

describe("StagedFile", () => {
  it("has what was staged at once, and keeps what was committed", () => {
    const file = new StagedFile(faultyFiles(), join(folder, "deep", "a"));
    file.stage(Buffer.from("one "));
    file.commit();
    file.stage(Buffer.from("two "));
    expect(readFileSync(file.path, "utf8")).toBe("one two ");
    expect(file.length).toBe(8);
    file.drop();
    expect(readFileSync(file.path, "utf8")).toBe("one ");
    file.stage(Buffer.from("three"));
    file.commit();
    file.close();
    expect(readFileSync(file.path, "utf8")).toBe("one three");
  });

  it("can stage again after a write that was cut short, even where nothing can be cut off", () => {
    const files = { ...faultyFiles() };
    const file = new StagedFile(
      {
        ...files,
        ftruncateSync: () => {
          throw new Error("no");
        },
      },
      join(folder, "b"),
    );
    file.stage(Buffer.from("12"));
    file.commit();
    files.fail(3);
    expect(() => file.stage(Buffer.from("345678"))).toThrow(/ENOSPC/);
    file.drop();
    file.stage(Buffer.from("345678"));
    file.commit();
    expect(readFileSync(file.path, "utf8")).toBe("12345678");
  });
});

/** A file in memory, read at most `most` bytes at a time. */
const fileOf = (text: string, most = Number.POSITIVE_INFINITY) => {
  const bytes = Buffer.from(text);
  const readSync = (_: number, into: Buffer, at: number, length: number, from: number): number =>
    bytes.copy(into, at, from, Math.min(from + Math.min(length, most), bytes.length));
  return { files: { readSync: readSync as never }, size: bytes.length };
};

const linesOf = (text: string, most?: number, from = 0): string[] => {
  const { files, size } = fileOf(text, most);
  return [...wholeLines(files, 0, from, size)].map((line) => line.text);
};

describe("wholeLines", () => {
  it("gives lines without their ends, and not what no newline ends", () => {
    expect(linesOf("a\n\nbc\nrest")).toEqual(["a", "", "bc"]);
    expect(linesOf("")).toEqual([]);
    expect(linesOf("rest")).toEqual([]);
  });

  it("puts lines together that are longer than what is read at once, also within a character", () => {
    const long = "größe🙂".repeat(40_000);
    expect(linesOf(`${long}\nx\n${long}\n`)).toEqual([long, "x", long]);
    expect(linesOf("🙂🙂\nü\n", 1)).toEqual(["🙂🙂", "ü"]);
  });

  it("tells where the next line begins, and begins where it is told", () => {
    const { files, size } = fileOf("ü\nb\n");
    expect([...wholeLines(files, 0, 0, size)].map(({ next }) => next)).toEqual([3, 5]);
    expect(linesOf("ü\nb\n", undefined, 3)).toEqual(["b"]);
  });

  it("ends with the file, where that is shorter than was thought", () => {
    const { files } = fileOf("a\nb");
    expect([...wholeLines(files, 0, 0, 100)].map(({ text }) => text)).toEqual(["a"]);
  });
});
