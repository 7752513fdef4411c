import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { checkpointHook } from "../checkpoint/index.ts";
import { openStatsStore } from "../metrics/index.ts";
import { makeEnvironment } from "../rl/environments/registry.ts";
import { WalkTask, walkRun } from "../rl/evaluation/run.test-support.ts";
import { evaluationText } from "./evaluate.ts";

const main = fileURLToPath(new URL("./main.ts", import.meta.url));
/** Each starts Node and translates the program. */
const patience = { timeout: 300_000 };
const directory = mkdtempSync(join(tmpdir(), "espalier-evaluate-"));
const checkpoint = `${directory}/epoch-0002-update-000004`;

beforeAll(async () => {
  const task = new WalkTask(() => makeEnvironment("CartPole-v1"), "CartPole-v1");
  await walkRun(task, [checkpointHook({ directory })], { epochs: 2 }).trainer.train();
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const run = (...args: readonly string[]) => command("evaluate", ...args);

/** Runs a command in a process of its own. */
async function command(...args: readonly string[]) {
  const child = spawn(process.execPath, ["--import", "tsx", main, ...args], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  let [out, errors] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    out += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    errors += text;
  });
  const [code] = (await once(child, "close")) as [number | null];
  return { code, out, errors };
}

describe("espalier evaluate", patience, () => {
  it("prints scores as a table and as JSON, the same each time", async () => {
    const [table, json] = await Promise.all([
      run(directory, "--episodes", "5"),
      run(checkpoint, "--episodes", "5", "--json"),
    ]);
    expect([table.code, table.errors, json.code, json.errors]).toEqual([0, "", 0, ""]);
    const found = JSON.parse(json.out);
    expect(found).toMatchObject({ run: "walk", step: 4, checkpoint: pathToFileURL(checkpoint).href });
    expect(found.scores["CartPole-v1"].episodes).toBe(5);
    expect(table.out).toBe(`${evaluationText(found)}\n`);
    expect(table.out).toMatch(
      /^file:.*epoch-0002-update-000004 \(run walk, step 4\)\nsuite +return +deviation/,
    );
  });

  it("files scores in a stats store, under the checkpoint's step and with its address", async () => {
    const location = `${directory}/.stats.db`;
    const uri = pathToFileURL(checkpoint).href;
    const { code, errors } = await run(
      uri,
      "--episodes",
      "2",
      "--store",
      location,
      "--run",
      "mine",
      "--sample",
    );
    expect([code, errors]).toEqual([0, ""]);
    const store = await openStatsStore(location);
    const rows = await store.list("mine", "evaluation");
    expect(rows).toMatchObject([{ step: 4, name: "CartPole-v1", checkpoint: uri, scores: { episodes: 2 } }]);
    await store.close();
  });

  it("knows environments that a module registers", async () => {
    const file = join(directory, "mine.mts");
    const rl = new URL("../rl/index.ts", import.meta.url).href;
    writeFileSync(
      file,
      `import { makeEnvironment, registerEnvironment } from ${JSON.stringify(rl)};
      registerEnvironment("Mine-v0", { make: () => makeEnvironment("CartPole-v1") });`,
    );
    const asked = [directory, "--env", "Mine-v0", "--episodes", "2"];
    const [alone, known, missing] = await Promise.all([
      run(...asked),
      run(...asked, "--module", file, "--json"),
      run(...asked, "--module", join(directory, "none.mjs")),
    ]);
    expect([alone.code, known.code, missing.code]).toEqual([1, 0, 1]);
    expect(alone.errors).toMatch(
      /"Mine-v0".*ENVIRONMENT_UNKNOWN.*--module FILE, .*registerEnvironment\("Mine-v0"/s,
    );
    expect(missing.errors).toMatch(/MODULE_MISSING/);
    expect(JSON.parse(known.out).scores["Mine-v0"].episodes).toBe(2);
  });

  it("says what is wrong, and what to do", async () => {
    const all = await Promise.all([
      run(`${directory}/none`),
      run(directory, "--episodes", "0"),
      run(directory, "--suite", "{oops"),
      run(directory, "--env", "Pendulum-v1"),
      run(directory, "--run", "x"),
    ]);
    expect(all.map(({ code }) => code)).toEqual([1, 1, 1, 1, 1]);
    const texts = all.map(({ errors }) => errors);
    expect(texts[0]).toMatch(/RUN_MISSING/);
    expect(texts[1]).toMatch(/--episodes is "0".*fix: give a whole number from 1 on/s);
    expect(texts[2]).toMatch(/neither "lessons" nor JSON/);
    expect(texts[3]).toMatch(/cannot play Pendulum-v1: .*SPACES_MISMATCH/s);
    expect(texts[4]).toMatch(/--run is given, and --store is not/);
  });

  it("takes a run, with the environment of its configuration", async () => {
    const rl = new URL("../rl/index.ts", import.meta.url).href;
    writeFileSync(
      join(directory, "mine.mts"),
      `import { cartPole } from ${JSON.stringify(rl)};
export const make = () => Object.defineProperty(cartPole(), "name", { value: "Mine" });
`,
    );
    const agent = `name: agent
engine: wasm
directory: ${join(directory, "runs")}
task: { use: ppo, env: { get: ./mine.mts#make }, totalSteps: 512 }
`;
    writeFileSync(join(directory, "agent.yaml"), agent);
    expect((await command("train", join(directory, "agent.yaml"), "--quiet")).errors).toBe("");
    rmSync(join(directory, "agent.yaml")); // Its directory has all there is to know.
    const { code, out, errors } = await run(
      "agent",
      "--runs",
      join(directory, "runs"),
      "--episodes",
      "2",
      "--json",
    );
    expect([code, errors]).toEqual([0, ""]);
    expect(JSON.parse(out)).toMatchObject({ run: "agent", step: 512, scores: { make: { episodes: 2 } } });
  });

  it("validates a model that is no policy, by its run's configuration, and the best checkpoint where that is asked for", async () => {
    const file = join(directory, "model.yaml");
    writeFileSync(
      file,
      `engine: wasm
directory: ${join(directory, "models")}
task:
  use: supervisedTask
  model: { use: nn.dense, args: [1] }
  optimizer: { use: optim.sgd, learningRate: 0.1 }
  loss: { get: nn.mse }
  data: &rows { x: [[0], [1], [2], [3]], y: [[1], [3], [5], [7]] }
  validation: *rows
  batchSize: 2
training: { epochs: 3, seed: 1 }
checkpoints:
  schedule: { use: every, epochs: 1 }
  keep: { last: 3, best: { metric: validation/loss, direction: max, k: 1 } }
`,
    );
    const trained = await command("train", file, "--json");
    const { validation, directory: made } = JSON.parse(trained.out);
    const whole = join(made, "checkpoints");
    const [last, best, table, alone, played] = await Promise.all([
      run(made, "--json"),
      run("model", "--runs", join(directory, "models"), "--which", "best", "--json"),
      run(join(whole, "epoch-0003-update-000006")),
      run(whole, "--config", join(directory, "nothing.yaml")),
      run(made, "--episodes", "3", "--sample"),
    ]);
    expect(JSON.parse(last.out)).toMatchObject({ run: "model", step: 6, scores: { validation } });
    expect(JSON.parse(best.out)).toMatchObject({ step: 2 }); // The loss falls, and the run keeps the greatest.
    expect(table.out).toBe(`${evaluationText(JSON.parse(last.out))}\n`);
    expect(table.out).toMatch(/^file:.*epoch-0003-update-000006 \(run model, step 6\)\nloss +[\d.e-]+\n$/);
    expect([alone.code, alone.errors]).toEqual([1, expect.stringMatching(/CONFIG_FILE/)]);
    expect([played.code, played.errors]).toEqual([
      1,
      expect.stringMatching(/--episodes.*--sample.*OPTION_INVALID/s),
    ]);
  });
});
