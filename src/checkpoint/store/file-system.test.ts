import * as fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { makeDirectory } from "./file-system.ts";

describe("makeDirectory", () => {
  it("makes what is not there, and gives the first that was made", () => {
    const folder = fs.mkdtempSync(join(tmpdir(), "espalier-node-"));
    try {
      expect(makeDirectory(join(folder, "a/b/c"))).toBe(join(folder, "a"));
      expect(fs.statSync(join(folder, "a/b/c")).isDirectory()).toBe(true);
      expect(makeDirectory(join(folder, "a/b/c"))).toBeUndefined();
      fs.writeFileSync(join(folder, "file"), "");
      for (const path of ["file", "file/x"])
        expect(() => makeDirectory(join(folder, path))).toThrow(/EEXIST|ENOTDIR/);
    } finally {
      fs.rmSync(folder, { recursive: true });
    }
  });

  it.runIf(process.platform === "linux")("ends where nothing can be made", () => {
    expect(() => makeDirectory("/proc/espalier/runs")).toThrow(expect.objectContaining({ code: "ENOENT" }));
  });
});
