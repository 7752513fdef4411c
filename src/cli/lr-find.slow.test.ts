import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it } from "vitest";

const main = fileURLToPath(new URL("./main.ts", import.meta.url));
const source = (name: string) => fileURLToPath(new URL(`../${name}`, import.meta.url));
const directory = mkdtempSync(join(tmpdir(), "espalier-lr-find-"));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const file = join(directory, "train.mts");
writeFileSync(
  file,
  `import { nn, optim } from ${JSON.stringify(source("index.ts"))};
import { supervisedTask } from ${JSON.stringify(source("supervised/index.ts"))};
const x = Float32Array.from({ length: 64 }, (_, i) => Math.sin(i));
export const setup = () => ({
  task: supervisedTask({ engine: "wasm", model: nn.dense(1), optimizer: optim.sgd(), loss: nn.mse, batchSize: 16,
    data: { x: { data: x, shape: [64, 1] }, y: { data: x, shape: [64, 1] } } }),
  config: { seed: 2 },
});
`,
);

const run = (...args: readonly string[]) =>
  spawnSync(process.execPath, ["--import", "tsx", main, "lr-find", ...args], { encoding: "utf8" });

describe("espalier lr-find", { timeout: 300_000 }, () => {
  it("prints the curve and a rate, writes the image, and gives JSON", () => {
    const image = join(directory, "rate.svg");
    const text = run(file, "--svg", image, "--updates", "50");
    expect([text.status, text.stderr]).toEqual([0, ""]);
    expect(text.stdout).toMatch(/\*[\s\S]*learning rate[\s\S]*falls fastest at [\d.e-]+/);
    expect(readFileSync(image, "utf8")).toMatch(/^<svg/);
    const json = JSON.parse(run(file, "--json", "--updates", "50").stdout);
    expect(json.suggestion).toBe(json.steepest);
    expect(json.rates).toHaveLength(json.losses.length);
  });

  it("takes configurations, with other values, and runs", () => {
    const yaml = join(directory, "run.yaml");
    writeFileSync(
      yaml,
      `engine: wasm
directory: ${join(directory, "runs")}
task: { use: supervisedTask, model: { use: nn.dense, args: [1] }, optimizer: { use: optim.sgd, learningRate: 0.1 },
  loss: { get: nn.mse }, data: { x: [[0], [1], [2], [3]], y: [[1], [3], [5], [7]] }, batchSize: 2 }
training: { epochs: 1, seed: 1 }
`,
    );
    const options = ["--json", "--updates", "20"];
    const [small, large] = ["2", "4"].map((size) => run(yaml, ...options, "--set", `task.batchSize=${size}`));
    expect([small?.status, large?.status, small?.stderr]).toEqual([0, 0, ""]);
    expect(JSON.parse(small?.stdout ?? "").losses).not.toEqual(JSON.parse(large?.stdout ?? "").losses);
    spawnSync(process.execPath, ["--import", "tsx", main, "train", yaml, "--quiet"]);
    const ofRun = run("run", "--runs", join(directory, "runs"), ...options);
    expect([ofRun.status, ofRun.stdout]).toEqual([0, small?.stdout]);
  });

  it("refuses a file that is not there and a rate that is none", () => {
    const missing = run(join(directory, "none.mts"));
    expect([missing.status, missing.stderr]).toEqual([1, expect.stringMatching(/SETUP_MISSING/)]);
    const set = run(file, "--set", "training.seed=3");
    expect([set.status, set.stderr]).toEqual([1, expect.stringMatching(/--set .*OPTION_INVALID/)]);
    const nowhere = run(file, "--updates", "10", "--svg", join(directory, "none/rate.svg"));
    expect([nowhere.status, nowhere.stdout]).toEqual([1, expect.stringMatching(/falls fastest/)]);
    const rate = run(file, "--from", "-1");
    expect([rate.status, rate.stderr]).toEqual([1, expect.stringMatching(/OPTION_INVALID/)]);
  });
});
