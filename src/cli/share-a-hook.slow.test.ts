import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));
const tsx = join(root, "node_modules/tsx/dist/loader.mjs");
const project = mkdtempSync(join(tmpdir(), "espalier-share-"));
afterAll(() => rmSync(project, { recursive: true, force: true }));

const modules = join(project, "node_modules");
const installed = join(modules, "espalier-hook-target");
mkdirSync(join(modules, "espalier"), { recursive: true });
cpSync(join(root, "examples/share-a-hook"), installed, { recursive: true });
renameSync(join(installed, "_package.json"), join(installed, "package.json"));
const exports = { ".": "./index.js", "./testing": "./testing.js" };
for (const [file, source] of [
  ["index.js", "src/index.ts"],
  ["testing.js", "src/doors/testing.ts"],
] as const)
  writeFileSync(join(modules, "espalier", file), `export * from ${JSON.stringify(join(root, source))};\n`);
writeFileSync(
  join(modules, "espalier/package.json"),
  JSON.stringify({ name: "espalier", type: "module", exports }),
);

const run = (cwd: string, ...args: readonly string[]) =>
  spawnSync(process.execPath, ["--import", tsx, ...args], { cwd, encoding: "utf8" });
const train = (target: string) => {
  const hook = `{ use: "espalier-hook-target#stopAtTarget", metric: loss, target: ${target} }`;
  writeFileSync(
    join(project, "run.yaml"),
    `engine: wasm
task:
  use: supervisedTask
  model: { use: nn.mlp, hidden: [8], out: 1 }
  optimizer: { use: optim.adam, learningRate: 0.05 }
  loss: { get: nn.mse }
  batchSize: 4
  data: &data { x: [[0], [1], [2], [3]], y: [[0], [0], [1], [1]] }
  validation: *data
training: { epochs: 60, seed: 1 }
hooks:
  - ${hook}
`,
  );
  return run(project, join(root, "src/cli/main.ts"), "train", "run.yaml", "--json");
};

describe("a shared hook", { timeout: 300_000 }, () => {
  it("is found by its keyword, and its own test passes", () => {
    const { keywords } = JSON.parse(readFileSync(join(installed, "package.json"), "utf8"));
    expect(keywords).toContain("espalier-hook");
    const { status, stdout } = run(installed, "--test", "test/hook.test.js");
    expect([status, stdout]).toEqual([0, expect.stringMatching(/pass 2\b/)]);
  });

  it("ends a run whose file names the package", () => {
    const { status, stdout, stderr } = train("0.1");
    expect([status, stderr]).toEqual([0, ""]);
    expect(JSON.parse(stdout)).toMatchObject({
      outcome: "stopped",
      reason: expect.stringMatching(/^loss is 0\.0/),
    });
  });

  it("is refused with the place in the file where its options are wrong", () => {
    const { status, stderr } = train("high");
    expect([status, stderr]).toEqual([1, expect.stringMatching(/run\.yaml:12:5 .*hooks\[0\]: .*high/)]);
  });
});
