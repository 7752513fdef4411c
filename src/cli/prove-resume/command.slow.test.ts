import { execFile } from "node:child_process";
import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { testEngines } from "../../engine/run/engines.test-support.ts";
import { testDirectory } from "../checkpoint/checkpoints.test-support.ts";

const main = fileURLToPath(new URL("../main.ts", import.meta.url));
const rings = fileURLToPath(new URL("../../../examples/setups/rings.ts", import.meta.url));
const streamed = fileURLToPath(new URL("../../../examples/setups/streamed.ts", import.meta.url));
const rollouts = fileURLToPath(new URL("../../../examples/setups/rollouts.ts", import.meta.url));
const { path } = testDirectory();

/** Three to five processes one after another, each of which starts an engine: on a busy machine that takes a while. */
const patience = { timeout: 300_000 };

/** Runs the command. Not synchronously: its children answer it by messages. */
function proveResume(...args: readonly string[]) {
  return new Promise<{ code: number; stdout: string; stderr: string }>((resolve) => {
    const child = execFile(
      process.execPath,
      ["--import", "tsx", main, "prove-resume", ...args],
      { encoding: "utf8", env: { ...process.env, NO_COLOR: "1" } },
      (_error, stdout, stderr) => resolve({ code: child.exitCode ?? -1, stdout, stderr }),
    );
  });
}

/** A task in plain JavaScript whose step counts its calls; `saved` says whether that count belongs to its state. */
function counting({
  saved,
  epochs = 4,
  extra = "",
  hooks = "[]",
}: {
  saved: boolean;
  epochs?: number;
  extra?: string;
  hooks?: string;
}): string {
  const file = path("setup.mjs");
  writeFileSync(
    file,
    `let calls = 0;
    let w = new Float32Array(6);
    const getState = () => ({ layer: { w }, calls: ${saved ? "calls" : "0"} });
    const setState = (state) => { w = state.layer.w; ${saved ? "calls = state.calls;" : ""} };
    export const setup = async () => ({
      config: { epochs: ${epochs} },
      hooks: ${hooks},
      task: {
        components: { weights: { getState, setState } },
        sampleUnit: "examples",
        stepUnit: "updates",
        ramps: {},
        epoch: () => [
          { phase: "train", repeats: 5, adds: { updates: 1, samples: 1 }, fusesWithNext: false, maxFuse: 1 },
        ],
        run: () => {
          calls++;
          ${extra}
          w = w.map((x, i) => x + (i === 4 ? calls : 1));
          return { metrics: {} };
        },
        snapshot: () => ({ components: { weights: getState() } }),
      },
    });`,
  );
  return file;
}

describe.each(testEngines())("espalier prove-resume on %s", patience, (engine) => {
  it("finds supervised training with shuffling, dropout, accumulation and a cycle exact", async () => {
    const { code, stdout, stderr } = await proveResume(rings, "--engine", engine);
    expect(stderr).not.toContain("error");
    expect(stdout).toMatch(new RegExp(`^on ${engine}: 6 epochs, 60 batches in one go$`, "m"));
    expect(stdout).toMatch(
      /^SIGKILL to process \d+ after batch 36 \(6 of 10 in epoch 4 of 6\); resumed from epoch-0003-update-000033, batch 33$/m,
    );
    for (const part of ["params", "optimizer", "data", "keys", "trainer", "random", "ramp\\.weight\\.small"])
      expect(stdout).toMatch(new RegExp(`^${part} +([0-9a-f]{16}) +\\1 +same$`, "m"));
    expect(stdout).toContain("bit for bit");
    expect(code).toBe(0);
  });

  it("finds streamed training exact: shuffled, with augmentation, dropout, accumulation and worker threads", async () => {
    const { code, stdout, stderr } = await proveResume(streamed, "--engine", engine, "--kill-at", "14");
    expect(stderr).not.toContain("error");
    expect(stdout).toMatch(new RegExp(`^on ${engine}: 4 epochs, 40 batches in one go$`, "m"));
    for (const part of ["params", "optimizer", "data", "keys", "trainer", "random"])
      expect(stdout).toMatch(new RegExp(`^${part} +([0-9a-f]{16}) +\\1 +same$`, "m"));
    expect(stdout).toContain("bit for bit");
    expect(code).toBe(0);
  });
});

describe("espalier prove-resume", patience, () => {
  it("names the first difference by component, tensor and index, and fails", async () => {
    const { code, stdout } = await proveResume(counting({ saved: false }), "--engine", "wasm");
    expect(code).toBe(1);
    expect(stdout).toMatch(/^weights +[0-9a-f]{16} +[0-9a-f]{16} +DIFFERENT$/m);
    expect(stdout).toMatch(/first difference: component weights, layer\.w\[4\]: 210 and \d+$/m);
  });

  it("finds rollouts of a worker exact: episodes under way, a memory, a curriculum, evaluations, a replay", async () => {
    const { code, stdout } = await proveResume(rollouts, "--engine", "wasm");
    const parts = ["params", "replay", "worker", "worker.curriculum", "worker.generator", "keys"];
    for (const part of parts) expect(stdout).toMatch(new RegExp(`^${part} +([0-9a-f]{16}) +\\1 +same$`, "m"));
    expect(stdout).toContain("bit for bit");
    expect(code).toBe(0);
  });

  it("survives several kills, keeps the files and prints JSON when asked to", async () => {
    const { code, stdout } = await proveResume(
      ...[counting({ saved: true }), "--engine", "wasm", "--epochs", "3", "--kill-at", "1,9,12", "--json"],
      ...["--keep", path("kept")],
    );
    expect(code).toBe(0);
    const proof = JSON.parse(stdout);
    expect(proof).toMatchObject({ exact: true, epochs: 3, batches: 15, differences: [] });
    expect(proof.kills.map(({ at }: { at: number }) => at)).toEqual([1, 9, 12]);
    expect(new Set(proof.kills.map(({ pid }: { pid: number }) => pid)).size).toBe(3);
    expect(readdirSync(path("kept")).sort()).toEqual(["in-one-go", "resumed"]);
    const again = await proveResume(counting({ saved: true }), "--keep", path("kept"));
    expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining("DIRECTORY_NOT_EMPTY") });
  });

  it("leaves out all checkpoint hooks of the set-up, the primary one and others", async () => {
    const checkpoints = new URL("../../checkpoint/index.ts", import.meta.url).href;
    const hooks = `await import(${JSON.stringify(checkpoints)}).then(({ checkpointHook }) => [
      checkpointHook({ directory: ${JSON.stringify(path("own"))} }),
      checkpointHook({ name: "second", directory: ${JSON.stringify(path("second"))}, primary: false }),
    ])`;
    const { code, stdout } = await proveResume(counting({ saved: true, hooks }), "--engine", "wasm");
    expect(stdout).toContain("bit for bit");
    expect(code).toBe(0);
    expect([path("own"), path("second")].filter(existsSync)).toEqual([]);
  });

  it("says what failed in the set-up, and in training", async () => {
    writeFileSync(path("empty.mjs"), "export const model = 1;");
    const none = await proveResume(path("empty.mjs"));
    expect(none).toMatchObject({ code: 1, stderr: expect.stringContaining('exports no "setup"') });
    const file = counting({ saved: true, extra: "if (calls === 3) throw new Error('out of data');" });
    const failing = await proveResume(file, "--engine", "wasm");
    expect(failing.code).toBe(1);
    expect(failing.stderr).toMatch(/the run in one go: .*out of data/);
  });
});
