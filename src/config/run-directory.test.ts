import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { parse } from "yaml";
import { openStatsStore } from "../metrics/index.ts";
import { configAround, createRun, findRunDirectory, reopenRun } from "./run-directory.ts";

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

describe("run.json", () => {
  it("has no outcome while a run goes on, whatever it had before", async () => {
    const begun = await createRun(file, { quiet: true });
    await begun.train();
    const outcome = (): unknown =>
      JSON.parse(readFileSync(join(begun.directory, "run.json"), "utf8")).outcome;
    expect(outcome()).toBe("completed");
    const more = ["training.epochs=6"];
    const again = await reopenRun(begun.directory, { quiet: true, overrides: more });
    const seen: unknown[] = [];
    again.trainer.registerHook({ name: "sees", onEpochEnd: () => void seen.push(outcome()) });
    await again.train();
    expect([...seen, outcome()]).toEqual([undefined, undefined, "completed"]);
  });

  it("is damaged where a part of it is missing", async () => {
    const begun = await createRun(file, { quiet: true });
    await begun.train();
    writeFileSync(join(begun.directory, "run.json"), '{ "id": "x" }');
    await expect(reopenRun(begun.directory)).rejects.toMatchObject({ code: "RUN_MISSING" });
  });
});

it("a run without a checkpoint says that it begins anew", async () => {
  const begun = await createRun(file, { quiet: true });
  await begun.train();
  rmSync(join(begun.directory, "checkpoints"), { recursive: true });
  const again = await reopenRun(begun.directory, { quiet: true });
  const said = vi.spyOn(process.stderr, "write").mockReturnValue(true);
  onTestFinished(() => said.mockRestore());
  expect((await again.train()).counters.epochs).toBe(4);
  expect(said.mock.calls.join()).toContain("begins anew");
});

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
    ["a stats store that cannot be made", "stats=/dev/null/stats.db", /--set .* stats: .*stats\.db/s],
    ["two of one name", "hooks=['./hooks.mjs#other', './hooks.mjs#other']", /run\.yaml.* hooks: .*"other"/s],
  ])("says where in the configuration, and leaves no directory: %s", async (_, override, message) => {
    const runs = join(folder, "refused");
    const overrides = [`directory=${runs}`, `stats=${join(runs, "stats.db")}`, override];
    await expect(createRun(file, { quiet: true, overrides })).rejects.toThrow(message);
    expect(existsSync(runs)).toBe(false);
  });

  it("says what a publication misses, where it is written", async () => {
    const overrides = ["checkpoints={ publish: [{ to: s3://lab/maze }] }"];
    await expect(createRun(file, { quiet: true, overrides })).rejects.toMatchObject({
      code: "CONFIG_INVALID",
      message: expect.stringMatching(/checkpoints\.publish\[0\]\.schedule: .*schedule is missing/),
    });
  });

  it("says that its directory cannot be made", async () => {
    for (const more of ["stats=false", `stats=${join(folder, "some.db")}`])
      await expect(
        createRun(file, { quiet: true, overrides: ["directory=/dev/null/runs", more] }),
      ).rejects.toMatchObject({
        code: "CONFIG_INVALID",
        message: expect.stringMatching(/--set .* directory: .*\/dev\/null/s),
      });
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

describe("what the parts of a run write", () => {
  it("is in the run's directory, unless its path is a whole one", async () => {
    const elsewhere = join(folder, "elsewhere.csv");
    const parts = [
      "sinks=[{ use: tensorBoardSink, args: [board] }, { use: jsonlSink, args: [more/m.jsonl], name: more }]",
      "hooks=[{ use: profilerHook, epochs: [1, 1], directory: profiles }, { use: heartbeatHook, name: beat, file: alive.json }]",
      "metrics.heartbeat={ file: beats.json }",
    ];
    const run = await createRun(file, { quiet: true, overrides: parts });
    await run.train();
    for (const one of ["board", "more/m.jsonl", "profiles", "alive.json", "beats.json"])
      expect(existsSync(join(run.directory, one)), one).toBe(true);
    await (
      await createRun(file, { quiet: true, overrides: [`sinks=[{ use: csvSink, args: ["${elsewhere}"] }]`] })
    ).train();
    expect(existsSync(elsewhere)).toBe(true);
  });

  it("are the replays of each run, which its id leads to", async () => {
    const agents = join(folder, "agents.yaml");
    writeFileSync(
      agents,
      `engine: wasm
directory: ${join(folder, "agents")}
stats: false
task: { use: ppo, env: CartPole-v1, totalSteps: 256 }
training: { handleSignals: false }
hooks:
  - { use: evaluationHook, player: { get: task.player }, suites: { cart: { env: CartPole-v1 } },
      schedule: { use: every, epochs: 1 }, episodes: 1, replays: {} }
`,
    );
    const runs = await Promise.all(
      [1, 2].map((seed) => createRun(agents, { quiet: true, overrides: [`training.seed=${seed}`] })),
    );
    for (const run of runs) await run.train();
    for (const { directory } of runs) {
      const [name = ""] = readdirSync(join(directory, "replays"));
      expect(name).toMatch(/cart-0\.replay$/);
      expect(configAround(join(directory, "replays", name))?.directory).toBe(directory);
    }
  });
});

describe("a run that ended before its first checkpoint", () => {
  it("is filed in the stats store when it goes on, from its beginning", async () => {
    const mended = join(folder, "mended");
    writeFileSync(
      join(folder, "fails.mjs"),
      `import { existsSync } from "node:fs";
export const fails = {
  name: "fails",
  onEpochEnd({ counters }) {
    if (counters.epochs === 2 && !existsSync(${JSON.stringify(mended)})) throw new Error("not yet");
  },
};
`,
    );
    const overrides = [`directory=${join(folder, "early")}`, `stats=${join(folder, "early.db")}`];
    const run = await createRun(file, {
      quiet: true,
      overrides: [...overrides, "hooks=['./fails.mjs#fails']", "checkpoints={ schedule: { use: never } }"],
    });
    await expect(run.train()).rejects.toMatchObject({ code: "HOOK_FAILED" });
    rmSync(join(run.directory, "checkpoints"), { recursive: true });
    writeFileSync(mended, "");
    expect((await (await reopenRun(run.directory, { quiet: true })).train()).counters.epochs).toBe(4);
    const store = await openStatsStore(join(folder, "early.db"), { create: false });
    expect(await store.run(run.id)).toMatchObject({ outcome: "completed", reason: undefined });
    expect((await store.series(run.id, "train/loss")).length).toBeGreaterThan(0);
    await store.close();
  });
});

describe("values of --set of a run that goes on", () => {
  const record = (directory: string) => JSON.parse(readFileSync(join(directory, "run.json"), "utf8"));

  it("become part of its configuration", async () => {
    const run = await createRun(file, { quiet: true });
    await run.train();
    const { configHash } = record(run.directory);
    const longer = await reopenRun(run.directory, { quiet: true, overrides: ["training.epochs=6"] });
    expect(readFileSync(join(run.directory, "config.yaml"), "utf8")).toContain("epochs: 4");
    expect((await longer.train()).counters.epochs).toBe(6);
    expect(record(run.directory)).toMatchObject({ overrides: ["training.epochs=6"], outcome: "completed" });
    expect(record(run.directory).configHash).not.toBe(configHash);
    expect((await reopenRun(run.directory, { quiet: true })).trainer.config.epochs).toBe(6);
  });

  it("leave a run as it was where its checkpoint does not fit them", async () => {
    const run = await createRun(file, { quiet: true });
    await run.train();
    const before = record(run.directory);
    const other = await reopenRun(run.directory, { quiet: true, overrides: ["task.model.hidden=[5]"] });
    await expect(other.train()).rejects.toMatchObject({
      code: "HOOK_FAILED",
      message: expect.stringContaining("CHECKPOINT_MISMATCH"),
    });
    expect(record(run.directory)).toEqual(before);
    expect((await (await reopenRun(run.directory, { quiet: true })).train()).outcome).toBe("completed");
  });
});

describe("a run of a module", () => {
  const written = (name: string, text: string): string => {
    const module = join(folder, name);
    const from = (path: string) => JSON.stringify(new URL(path, import.meta.url).href);
    writeFileSync(
      module,
      `import { ppo } from ${from("../rl/index.ts")};
import { supervisedTrainer } from ${from("../supervised/index.ts")};
import { nn } from ${from("../index.ts")};
const common = { engine: "wasm", directory: ${JSON.stringify(join(folder, "modules"))}, stats: false, metrics: { timing: false } };
export default ${text};
`,
    );
    return module;
  };

  it.each([
    [
      "agent.mjs",
      `{ ...common, task: ppo({ env: "CartPole-v1", totalSteps: 512 }), training: { handleSignals: false } }`,
      {
        algorithm: "ppo",
        environment: "CartPole-v1",
        settings: expect.objectContaining({ totalSteps: 512 }),
      },
    ],
    [
      "rows.mjs",
      `{ ...common, training: { epochs: 2, handleSignals: false },
  task: supervisedTrainer({ model: nn.mlp({ hidden: [], out: 1 }), loss: nn.mse, trainingConfig: { batchSize: 2 } }),
  data: { train: { x: [[0], [1]], y: [[0], [1]] } } }`,
      expect.objectContaining({ config: expect.objectContaining({ batchSize: 2 }) }),
    ],
  ])("that makes its task when it begins is written down and goes on: %s", async (name, text, task) => {
    const module = written(name, text);
    const run = await createRun(module, { quiet: true });
    run.trainer.registerHook({
      name: "interrupts",
      onEpochEnd: () => run.trainer.interrupt("enough"),
    });
    expect((await run.train()).outcome).toBe("interrupted");
    expect(parse(readFileSync(join(run.directory, "config.yaml"), "utf8")).task).toEqual(task);
    const { outcome, counters } = await (await reopenRun(run.directory, { quiet: true })).train();
    expect({ outcome, epochs: counters.epochs }).toEqual({ outcome: "completed", epochs: 2 });
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
