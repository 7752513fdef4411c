import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { testDirectory } from "./checkpoint/checkpoints.test-support.ts";
import { hookPackages, registerHooks } from "./hooks.ts";
import { createProgram } from "./program.ts";
import { captured } from "./runs/runs.test-support.ts";
import { thisProcess } from "./terminal.ts";

const { path } = testDirectory();

function install(name: string, manifest: object | string, under = "."): void {
  const directory = path(join(under, "node_modules", name));
  mkdirSync(directory, { recursive: true });
  const text =
    typeof manifest === "string" ? manifest : JSON.stringify({ name, version: "1.0.0", ...manifest });
  writeFileSync(join(directory, "package.json"), text);
}

async function hooks(...args: readonly string[]) {
  const out = captured();
  const around = { ...thisProcess(), out };
  const program = createProgram([(parent) => registerHooks(parent, around)]);
  await program.parseAsync(["hooks", "--directory", path("."), ...args], { from: "user" });
  return out.text();
}

const keywords = ["espalier-hook"];

describe("espalier hooks", () => {
  it("lists built-in hooks with their options", async () => {
    const text = await hooks();
    expect(text).toMatch(/^checkpointHook +espalier +.*\bkeep\b/m);
    expect(text).toMatch(/^emaHook +espalier\/hooks/m);
    expect(text).toContain('no installed package has the keyword "espalier-hook"');
  });

  it("refuses a directory that is not there", async () => {
    await expect(hooks("--directory", path("none"))).rejects.toThrow(
      /--directory is ".*none".*OPTION_INVALID/s,
    );
  });

  it("lists installed packages with the keyword, scoped ones and those of directories above too", async () => {
    install("announce", {
      keywords,
      description: "says hello",
      exports: { ".": "./a.js", "./loud": "./b.js", "./package.json": "./package.json" },
    });
    install("@some/hooks", { keywords });
    install("other", { keywords: ["x"], description: "mentions espalier-hook" });
    install("broken", "{ espalier-hook");
    const text = await hooks();
    expect(text).toMatch(/^announce +1\.0\.0 +announce, announce\/loud +says hello$/m);
    expect(text).toMatch(/^@some\/hooks +1\.0\.0 +@some\/hooks/m);
    expect(text).not.toMatch(/^(other|broken)/m);
    install("announce", { version: "2.0.0", keywords }, "inner");
    expect(hookPackages(path("inner")).map(({ name, version }) => `${name} ${version}`)).toEqual([
      "@some/hooks 1.0.0",
      "announce 2.0.0",
    ]);
  });

  it("prints JSON with what options take", async () => {
    const { builtIn, packages } = JSON.parse(await hooks("--json"));
    expect(packages).toEqual([]);
    const early = builtIn.find(({ name }: { readonly name: string }) => name === "earlyStopping");
    expect(early).toMatchObject({
      from: "espalier",
      options: expect.arrayContaining([expect.objectContaining({ name: "patience" })]),
    });
  });
});
