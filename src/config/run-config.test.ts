import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { EspalierError } from "../core/index.ts";
import { every } from "../schedule/index.ts";
import { Trainer } from "../trainer/index.ts";
import { buildRun, readConfig, runConfig } from "./run-config.ts";
import { parseConfig } from "./source.ts";

const directory = mkdtempSync(join(tmpdir(), "espalier-config-"));
afterAll(() => rmSync(directory, { recursive: true }));

const file = (name: string, text: string): string => {
  writeFileSync(join(directory, name), text);
  return join(directory, name);
};

const build = (text: string, overrides: readonly string[] = []) =>
  buildRun(parseConfig(text, "run.yaml", overrides), directory);

const problemsOf = async (text: string, overrides: readonly string[] = []): Promise<string> => {
  const error = await build(text, overrides).catch((error: unknown) => error);
  expect(error).toBeInstanceOf(EspalierError);
  expect((error as EspalierError).code).toBe("CONFIG_INVALID");
  return (error as EspalierError).message;
};

const tabular = `
engine: wasm
define:
  rows:
    use: tabular
    rows: 80
    seed: 1
    then: [{ split: [{ train: 0.8, validation: 0.2 }, { seed: 1 }] }]
data: { train: { get: rows.train }, validation: { get: rows.validation } }
task:
  use: supervisedTrainer
  model: { use: nn.mlp, hidden: [8], out: 2 }
  transform:
    use: columns
    x: [{ use: standardize, args: [age, income] }, { use: oneHot, args: [city] }]
    y: { use: label, args: [bought] }
  trainingConfig:
    batchSize: 16
    learningRate: { use: linear, from: 0.01, to: 0, over: { epochs: 2 } }
training: { epochs: 2, seed: 3 }
`;

describe("a run from a file", () => {
  it("tells once that there is no task, and that there is nothing at all", async () => {
    expect(await problemsOf("engine: wasm")).toMatch(/has a problem\n.* task: .*missing/);
    expect(await problemsOf("task: ppo")).toMatch(/has a problem\n.* task: .*"ppo"/);
    expect(await problemsOf("")).toMatch(/empty/);
  });

  it("refuses what a reference would leave out", async () => {
    const problems = await problemsOf(tabular.replace("get: rows.train", "get: rows.train, thn: [inMemory]"));
    expect(problems).toMatch(/has a problem\n.* data\.train\.thn: /);
  });

  it("is built by the functions that it names, and trains as the program does", async () => {
    const { trainer, name } = await build(tabular);
    expect(name).toBe("run");
    const result = await new Trainer({
      ...trainer,
      config: { ...trainer.config, handleSignals: false },
    }).train();
    expect(result.counters).toMatchObject({ epochs: 2, updates: 8 });

    const { nn, linear } = await import("../index.ts");
    const { supervisedTrainer } = await import("../doors/supervised.ts");
    const { columns, label, oneHot, standardize, tabular: table } = await import("../doors/data.ts");
    const rows = table({ rows: 80, seed: 1 }).split({ train: 0.8, validation: 0.2 }, { seed: 1 });
    const program = await supervisedTrainer({
      engine: "wasm",
      model: nn.mlp({ hidden: [8], out: 2 }),
      transform: columns({ x: [standardize("age", "income"), oneHot("city")], y: label("bought") }),
      trainingConfig: {
        epochs: 2,
        seed: 3,
        batchSize: 16,
        handleSignals: false,
        learningRate: linear({ from: 0.01, to: 0, over: { epochs: 2 } }),
      },
    }).train({ trainData: rows.train, valData: rows.validation, progress: false });
    expect(result.metrics).toEqual(program.metrics);
    expect(result.validation).toEqual(program.validation);
  });

  it("tells all problems at once, those of functions around a problem too", async () => {
    const text = await problemsOf(`
engine: wasm
task:
  use: ppo
  env: CartPole-v1
  totalStep: 20000
  learningRate: { use: linear, from: 1e-3, too: 0, over: { epochs: 3 } }
training: { seed: -1, epoch: 3 }
hooks:
  - use: evaluationHok
  - use: checkpointHook
    directory: x
    keep: { lats: 3 }
sink: []
`);
    expect(text).toMatch(/run\.yaml has 8 problems/);
    for (const part of [
      /run\.yaml:14:1 {2}sink: .*did you mean "sinks"/,
      /run\.yaml:6:3 {2}task\.totalStep: .*did you mean "totalSteps"/,
      /run\.yaml:7:\d+ {2}task\.learningRate\.too: .*did you mean "to"/,
      /run\.yaml:7:\d+ {2}task\.learningRate(\.to)?: .*to is missing/,
      /run\.yaml:8:23 {2}training\.epoch: .*did you mean "epochs"/,
      /run\.yaml:8:13 {2}training\.seed: .*-1/,
      /run\.yaml:10:5 {2}hooks\[0\]\.use: .*did you mean "evaluationHook"/,
      /run\.yaml:13:13 {2}hooks\[1\]\.keep\.lats: .*did you mean "last"/,
    ])
      expect(text).toMatch(part);
  });

  it.each([
    ["task: 3", /task: .*which is not a task/],
    ["name: x", /task is missing/],
    ["[1, 2]", /it is not an object/],
    ["task: { use: every, epochs: 1 }", /task: it is no task/],
    ["task: { use: nn.mlpp }", /did you mean "mlp"/],
    ["task: { use: ./nowhere.ts }", /there is no file/],
    ["task: { use: no-such-package#x }", /"no-such-package" is not installed/],
    ["task: { use: espalier/rl#pqo }", /did you mean "ppo"/],
    ["task: { use: ppo, env: CartPole-v1 }\nhooks: [5]", /hooks\[0\]: it is no hook/],
    [
      "task: { use: ppo, env: CartPole-v1 }\nhooks: [{ use: evaluationHook, player: { get: task.plyer } }]",
      /no plyer/,
    ],
    ["task: { use: nn.dense, args: 3 }", /args is not a list/],
    ["imports: [./missing.ts]\ntask: { use: ppo, env: CartPole-v1 }", /imports\[0\]: there is no file/],
  ])("refuses %j", async (text, message) => {
    expect(await problemsOf(text)).toMatch(message);
  });

  it("tells a mistake of training once, where it is written, whatever is trained", async () => {
    for (const task of [
      "{ use: ppo, env: CartPole-v1 }",
      "{ use: supervisedTrainer, model: { use: nn.mlp, out: 1 } }",
    ]) {
      const told = await problemsOf(`task: ${task}\ntraining: { seed: x }\n`);
      expect(told).toMatch(/run\.yaml:2:13 {2}training\.seed: /);
      expect(told.match(/seed is/g)).toHaveLength(1);
    }
  });

  it("refuses what a run of a file has of its own, which would be left out", async () => {
    const told = await problemsOf(
      `${tabular}checkpoints: { directory: s3://lab/run }\nmetrics: { run: { id: mine } }\n`,
      ["training.ranks=2"],
    );
    for (const path of ["checkpoints.directory", "metrics.run", "training.ranks"])
      expect(told).toContain(path);
  });

  it("says which --set is wrong", async () => {
    expect(await problemsOf(tabular, ["task.batchSize=0"])).toMatch(
      /--set task\.batchSize=0 {2}task\.batchSize: /,
    );
  });

  it("uses hooks of files, by default export and by name, with options or none", async () => {
    file(
      "hooks.mjs",
      `export default ({ every } = {}) => ({ name: "mine-" + every, onEpochEnd() {} });
       export const plain = { name: "plain", onEpochEnd() {} };`,
    );
    const { trainer } = await build(
      `${tabular}\nhooks: [{ use: ./hooks.mjs, every: 3 }, "./hooks.mjs#plain", progressHook]`,
    );
    expect(trainer.hooks?.slice(-3).map((hook) => hook.name)).toEqual([
      "mine-3",
      "plain",
      expect.any(String),
    ]);
  });

  it("makes definitions in any order, and says so where one is made of itself", async () => {
    const text = (define: string) =>
      `engine: wasm\ndefine: ${define}\ntask: { use: ppo, env: { get: pole } }\n`;
    const { trainer } = await build(text("{ pole: { get: name }, name: CartPole-v1 }"));
    expect(trainer.task).toBeDefined();
    expect(await problemsOf(text("{ pole: { get: name }, name: { get: pole } }"))).toMatch(
      /run\.yaml:2:\d+ {2}define\.name\.get: pole is made of itself/,
    );
  });

  it("makes what an alias stands for once", async () => {
    file(
      "hook.mjs",
      "export default (options) => ({ name: options.name, shared: options.by, onEpochEnd() {} });",
    );
    const { trainer } = await build(`${tabular}
hooks:
  - { use: ./hook.mjs, name: a, by: &when { use: every, epochs: 2 } }
  - { use: ./hook.mjs, name: b, by: *when }
`);
    const [a, b] = (trainer.hooks ?? []).slice(-2) as unknown as { readonly shared: object }[];
    expect(a?.shared).toBe(b?.shared);
  });

  it("is a module's default export, whose values stay what they are, with --set", async () => {
    const hook = { name: "own", schedule: every({ epochs: 1 }), onEpochEnd: () => undefined };
    const given = runConfig({ task: { use: "ppo", env: "CartPole-v1" }, hooks: [hook], engine: "wasm" });
    const built = await buildRun({ file: "run.ts", value: given, place: () => "run.ts" });
    expect(built.trainer.hooks).toContain(hook);
    const path = file(
      "run.mjs",
      `export default () => ({ task: { use: "ppo", env: "CartPole-v1" }, engine: "wasm" });`,
    );
    const source = await readConfig(path, ["task.totalSteps=512", "name=other"]);
    expect((await buildRun(source)).name).toBe("other");
    const listed = file(
      "listed.mjs",
      `export default { hooks: [{ use: "a" }, { use: "b", x: 1 }], task: { get steps() { return 1; } } };`,
    );
    const { value } = await readConfig(listed, ["hooks[1].x=2", "hooks[2]=c", "sinks[0].use=d"]);
    expect(value).toMatchObject({ hooks: [{ use: "a" }, { use: "b", x: 2 }, "c"], sinks: [{ use: "d" }] });
    for (const wrong of ["task.steps=2", "hooks[3]=c"])
      await expect(readConfig(listed, [wrong])).rejects.toMatchObject({ code: "CONFIG_OVERRIDE" });
    for (const [name, text] of [
      ["throws.mjs", "throw new Error('boom');"],
      ["run.toml", ""],
    ] as const)
      await expect(readConfig(file(name, text))).rejects.toMatchObject({
        code: "CONFIG_FILE",
        message: expect.stringContaining(name),
      });
    await expect(readConfig(file("none.mjs", "export const x = 1;"))).rejects.toMatchObject({
      code: "CONFIG_FILE",
    });
    await expect(readConfig(join(directory, "no.yaml"))).rejects.toMatchObject({ code: "CONFIG_FILE" });
  });
});
