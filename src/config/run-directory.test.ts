import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { openStatsStore } from "../metrics/index.ts";
import { createRun, findRunDirectory, reopenRun } from "./run-directory.ts";

const folder = mkdtempSync(join(tmpdir(), "espalier-run-directory-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const file = join(folder, "run.yaml");
writeFileSync(
  file,
  `engine: wasm
directory: ${join(folder, "runs")}
stats: false
metrics: { system: false, timing: false }
task:
  use: supervisedTask
  model: { use: nn.mlp, hidden: [4], out: 1 }
  optimizer: { use: optim.adam, learningRate: 0.05 }
  loss: { get: nn.mse }
  batchSize: 4
  data: { x: [[0], [1], [2], [3]], y: [[0], [0], [1], [1]] }
training: { epochs: 4, seed: 1, handleSignals: false }
`,
);

describe("control of a run", () => {
  it("listens in its directory, unless the configuration says otherwise", async () => {
    const run = await createRun(file, { quiet: true });
    await run.train();
    expect(run.trainer.hooks.get("control")).toBeDefined();
    expect(existsSync(join(run.directory, "control/state.json"))).toBe(true);
    const without = await createRun(file, { quiet: true, overrides: ["control=false"] });
    await without.train();
    expect(without.trainer.hooks.get("control")).toBeUndefined();
    expect(existsSync(join(without.directory, "control"))).toBe(false);
    await expect(createRun(file, { overrides: ["control=maybe"] })).rejects.toThrow(
      /control.*true or false/s,
    );
  });

  it("listens to a run that was begun without it, as those before there was one", async () => {
    const begun = await createRun(file, { quiet: true, overrides: ["control=false"] });
    begun.trainer.registerHook({
      name: "interrupts",
      onEpochEnd: ({ counters }) => (counters.epochs === 2 ? begun.trainer.interrupt("enough") : undefined),
    });
    expect((await begun.train()).outcome).toBe("interrupted");
    const again = await reopenRun(begun.directory, { quiet: true, overrides: ["control=true"] });
    const { outcome, counters } = await again.train();
    expect({ outcome, epochs: counters.epochs }).toEqual({ outcome: "completed", epochs: 4 });
    expect(existsSync(join(begun.directory, "control/state.json"))).toBe(true);
  });
});

writeFileSync(
  join(folder, "hooks.mjs"),
  `export const alone = { name: "alone", needs: [{ name: "rare", saved: true }], onEpochEnd() {} };
export const other = { name: "other", onEpochEnd() {} };
`,
);

describe("a run whose hooks cannot be made", () => {
  it.each([
    ["checkpoints", "checkpoints={ kep: 3 }", /--set .* checkpoints\.kep: .*"kep".*"keep"/s],
    ["metrics", "metrics.gradients=often", /run\.yaml.* metrics\.gradients: .*often/s],
    ["another stats store", "stats='mysql://host/stats'", /--set .* stats: .*postgres/s],
    ["a hook without its provider", "hooks=['./hooks.mjs#alone']", /run\.yaml.* hooks: .*"rare"/s],
    [
      "a sink named as one of the run's",
      "sinks=[{ use: jsonlSink, args: [m.jsonl] }]",
      /--set .* sinks: .*"jsonl"/s,
    ],
    ["two of one name", "hooks=['./hooks.mjs#other', './hooks.mjs#other']", /run\.yaml.* hooks: .*"other"/s],
  ])("says where in the configuration, and leaves no directory: %s", async (_, override, message) => {
    const runs = join(folder, "refused");
    const overrides = [`directory=${runs}`, override];
    await expect(createRun(file, { quiet: true, overrides })).rejects.toThrow(message);
    expect(existsSync(runs)).toBe(false);
  });

  it("finds rules of checkpoints and all else that is wrong at once, each where it is written", async () => {
    const bad = join(folder, "bad.yaml");
    const runs = join(folder, "bad-runs");
    writeFileSync(
      bad,
      `directory: ${runs}
task: { use: ppo, env: CartPole-v1, gamma: 2 }
checkpoints:
  keep: { best: { metric: validation/loss, k: 0 } }
metrics:
  heartbeat: 7
  timings: true
`,
    );
    await expect(createRun(bad)).rejects.toMatchObject({
      code: "CONFIG_INVALID",
      message: expect.stringMatching(
        /2:37 {2}task\.gamma: .*6:3 {2}metrics\.heartbeat: .*4:44 {2}checkpoints\.keep\.best\.k: .*4:11 {2}.*direction: /s,
      ),
    });
    expect(existsSync(runs)).toBe(false);
  });

  it("takes a heartbeat that is only switched on or has a schedule of its own, in the run's directory", async () => {
    for (const heartbeat of ["true", "{ schedule: { use: every, seconds: 1 } }"]) {
      const run = await createRun(file, { quiet: true, overrides: [`metrics.heartbeat=${heartbeat}`] });
      await run.train();
      expect(existsSync(join(run.directory, "heartbeat.json"))).toBe(true);
    }
  });
});

describe("a directory of runs that was moved or damaged", () => {
  const interrupted = async (runs: string, from = file) => {
    const run = await createRun(from, { quiet: true, overrides: [`directory=${runs}`] });
    run.trainer.registerHook({
      name: "interrupts",
      onEpochEnd: ({ counters }) => (counters.epochs === 2 ? run.trainer.interrupt("enough") : undefined),
    });
    await run.train();
    return run;
  };

  it("keeps its stats store: a run that goes on files there, and nothing is made where it was", async () => {
    const runs = join(folder, "before");
    const filing = join(folder, "filing.yaml");
    writeFileSync(filing, readFileSync(file, "utf8").replace("stats: false\n", ""));
    const { id } = await interrupted(runs, filing);
    const moved = join(folder, "after");
    renameSync(runs, moved);
    expect((await (await reopenRun(join(moved, id), { quiet: true })).train()).counters.epochs).toBe(4);
    expect(existsSync(runs)).toBe(false);
    const store = await openStatsStore(join(moved, "stats.db"), { create: false });
    expect(await store.run(id)).toMatchObject({ id, outcome: "completed" });
    await store.close();
  });

  it("says what is missing of a run, and finds the others", async () => {
    const runs = join(folder, "damaged");
    const { id, directory } = await interrupted(runs);
    mkdirSync(join(runs, "aaa"));
    for (const record of ["", "{}", '{ "id": ']) {
      writeFileSync(join(runs, "aaa/run.json"), record);
      expect(findRunDirectory("run", runs)).toBe(join(runs, id));
      await expect(reopenRun(join(runs, "aaa"))).rejects.toMatchObject({ code: "RUN_MISSING" });
    }
    rmSync(join(directory, "config.yaml"));
    await expect(reopenRun(directory)).rejects.toMatchObject({
      code: "CONFIG_FILE",
      message: expect.stringContaining("config.yaml"),
    });
  });
});
