import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { librariesIn, preloadLibraries } from "./libraries.ts";

let root: string;
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), "espalier-libraries-"));
  for (const [folder, names] of Object.entries({
    cudnn: ["libcudnn.so.9", "libcudnn_ops.so.9"],
    cu13: ["libcublas.so.13", "libcublasLt.so.13", "libcudart.so.13", "libnppc.so.13", "readme.txt"],
  })) {
    mkdirSync(join(root, folder));
    for (const name of names) writeFileSync(join(root, folder, name), "no library");
  }
});
afterAll(() => rmSync(root, { recursive: true }));

describe("librariesIn", () => {
  it("picks what XLA asks for, each after what it needs itself", () => {
    expect(librariesIn([join(root, "cudnn"), join(root, "cu13")]).map((path) => basename(path))).toEqual([
      "libcudart.so.13",
      "libcublasLt.so.13",
      "libcublas.so.13",
      "libcudnn.so.9",
      "libcudnn_ops.so.9",
    ]);
  });
});

describe("preloadLibraries", () => {
  it("goes on after a library that does not load, and says why", () => {
    const failed = preloadLibraries({
      kind: "cuda",
      path: "p.so",
      source: "option",
      libraryPaths: [join(root, "cudnn")],
    });
    expect(failed.map(({ path }) => basename(path))).toEqual(["libcudnn.so.9", "libcudnn_ops.so.9"]);
    expect(failed[0]?.message).toMatch(/libcudnn\.so\.9/);
  });

  it("has nothing to do for a plugin without library folders", () => {
    expect(preloadLibraries({ kind: "cpu", path: "p.so", source: "cache" })).toEqual([]);
  });
});
