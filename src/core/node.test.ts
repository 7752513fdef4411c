import * as fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, it, vi } from "vitest";
import { environmentVariable, makeDirectory, node } from "./node.ts";

afterEach(() => vi.unstubAllGlobals());

describe("node", () => {
  it("has Node's modules", () => {
    expect(node.fs.existsSync).toBe(fs.existsSync);
    expect(node.path.join("a", "b")).toMatch(/^a.b$/);
    for (const name of Object.getOwnPropertyNames(node)) expect(Reflect.get(node, name), name).toBeTruthy();
  });

  it.each([
    ["no process", undefined],
    ["a process without modules", { env: {} }],
  ])("says what it needs where there is %s", (_, process) => {
    vi.stubGlobal("process", process);
    expect(() => node.fs).toThrow(expect.objectContaining({ code: "NODE_MISSING" }));
    expect(() => node.fs).toThrow(/node:fs/);
    expect(environmentVariable("PATH")).toBeUndefined();
  });
});

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

  it("makes all directories of the sources: Node's own recursive mkdir may never return", () => {
    const sources = fileURLToPath(new URL("..", import.meta.url));
    const files = (fs.readdirSync(sources, { recursive: true }) as string[]).filter(
      (file) => file.endsWith(".ts") && !/test|fixture/.test(file),
    );
    const found = files.filter((file) =>
      /mkdir(Sync)?\([^;]*recursive: true/.test(fs.readFileSync(join(sources, file), "utf8")),
    );
    // Its thread imports nothing of ours; the sinks' files are given `makeDirectory` by that name.
    const others = ["metrics/health/watchdog-thread.ts", "metrics/sinks/"];
    expect(found.filter((file) => !others.some((other) => file.startsWith(other)))).toEqual([]);
  });
});
