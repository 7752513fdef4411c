import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

const root = fileURLToPath(new URL("..", import.meta.url));
const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "espalier-readme-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

describe("the README's first example", () => {
  it("runs as it stands, and learns", () => {
    const example = /```ts\n([\s\S]*?)```/.exec(readme)?.[1] ?? "";
    const door = new URL("../src/index.ts", import.meta.url).href;
    const program = example.replace('from "espalier"', `from ${JSON.stringify(door)}`);
    expect(program).not.toBe(example);
    const file = join(folder, "example.mts");
    writeFileSync(file, program);
    const { stdout, stderr } = spawnSync(process.execPath, ["--import", "tsx", file], {
      cwd: root,
      encoding: "utf8",
    });
    const losses = stdout
      .trim()
      .split("\n")
      .map((line) => Number(line.split(" ")[1]));
    expect(losses, stderr).toHaveLength(5);
    expect(losses[0]).toBeGreaterThan(0.6);
    expect(losses.at(-1)).toBeLessThan(0.01);
  });
});
