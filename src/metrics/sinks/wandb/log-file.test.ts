import {
  appendFileSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { afterAll, describe, expect, it } from "vitest";
import { node } from "../../../core/index.ts";
import { faultyFiles } from "../faulty-files.test-support.ts";
import { BLOCK, LogFile, readLog } from "./log-file.ts";
import { kind, storedRecord, textOf } from "./records.ts";

const folder = mkdtempSync(join(tmpdir(), "espalier-log-"));
afterAll(() => rmSync(folder, { recursive: true }));
let made = 0;
const newPath = (): string => join(folder, `log-${made++}`);

const write = (log: LogFile, ...texts: readonly string[]): void => {
  for (const text of texts) log.add(kind.run, (out) => out.text(1, text));
  log.stage();
  log.commit();
};
const found = (path: string): (readonly [number, string])[] =>
  Array.from(readLog(node.fs, path), (record) => {
    const { number, content } = storedRecord(record);
    return [number, textOf(content, 1)] as const;
  });

describe("LogFile", () => {
  it("begins with W&B's header; each record has its number, size and checksum", () => {
    const path = newPath();
    write(new LogFile(node.fs, path), "abc");
    const record = Buffer.from([8, 1, 0x8a, 1, 5, 10, 3, ...Buffer.from("abc")]);
    const checked = Buffer.from([1, ...record]);
    const size = Buffer.alloc(6);
    size.writeUInt32LE(crc32(checked));
    size.writeUInt16LE(record.length, 4);
    const header = Buffer.from(":W&B\xe1\xbe\0", "latin1");
    expect(readFileSync(path)).toEqual(Buffer.concat([header, size, checked]));
  });

  it("keeps records of any size whole wherever the end of a block falls", () => {
    // What is left of the first block after the first record goes from much to less than a header, and over.
    for (let short = -20; short <= 20; short++) {
      const path = newPath();
      const texts = ["x".repeat(BLOCK - 40 + short), "y", "z".repeat(3 * BLOCK), "", "w".repeat(BLOCK - 7)];
      write(new LogFile(node.fs, path), ...texts);
      expect(found(path)).toEqual(texts.map((text, i) => [i + 1, text]));
      expect(statSync(path).size).toBeGreaterThan(5 * BLOCK - 100);
    }
  });

  it("is the same in one call and in many", () => {
    const texts = Array.from({ length: 300 }, (_, i) => "t".repeat((i * 37) % 900));
    const [one, many] = [newPath(), newPath()];
    write(new LogFile(node.fs, one), ...texts);
    const log = new LogFile(node.fs, many);
    for (const text of texts) write(log, text);
    expect(readFileSync(many).equals(readFileSync(one))).toBe(true);
  });

  it("numbers records as if a call that failed had not been", () => {
    const [path, files] = [newPath(), faultyFiles()];
    const log = new LogFile(files, path);
    write(log, "one");
    files.fail(5);
    expect(() => write(log, "two", "three")).toThrow(/ENOSPC/);
    log.drop();
    write(log, "two", "three");
    expect(found(path)).toEqual([
      [1, "one"],
      [2, "two"],
      [3, "three"],
    ]);
  });
});

describe("readLog", () => {
  it("ends before what a crash left of a record", () => {
    const path = newPath();
    const log = new LogFile(node.fs, path);
    write(log, "one");
    const sizes = [statSync(path).size];
    write(log, "t".repeat(2 * BLOCK));
    sizes.push(statSync(path).size);
    for (let size = (sizes[1] ?? 0) - 1; size >= (sizes[0] ?? 0); size -= 4001) {
      truncateSync(path, size);
      expect(found(path)).toEqual([[1, "one"]]);
    }
    appendFileSync(path, Buffer.alloc(50, 7));
    expect(found(path)).toEqual([[1, "one"]]);
  });

  it("finds nothing in a file that is not a log", () => {
    const path = newPath();
    writeFileSync(path, "something else, long enough to be one");
    expect(found(path)).toEqual([]);
    writeFileSync(path, "");
    expect(found(path)).toEqual([]);
  });
});
