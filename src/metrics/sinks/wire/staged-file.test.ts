import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { faultyFiles } from "../faulty-files.test-support.ts";
import { StagedFile } from "./staged-file.ts";

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
