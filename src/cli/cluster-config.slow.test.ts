import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it } from "vitest";
import { requireNats, testServers } from "../cluster/server.test-support.ts";

// A trainer, workers and an evaluator of one file: no module of one's own.

const program = requireNats();
const servers = testServers();
const main = fileURLToPath(new URL("./main.ts", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "espalier-cluster-config-"));
const started = new Set<ChildProcess>();
afterAll(() => {
  for (const child of started) child.kill("SIGKILL");
  rmSync(folder, { recursive: true, force: true });
});

writeFileSync(
  join(folder, "run.yaml"),
  `name: poles
engine: wasm
imports: [./environment.mts]
define:
  game: { env: Short-v0, policy: { encoder: { kind: mlp, hidden: [8] } } }
  unused: { use: ./environment.mts#forTrainers }
task:
  use: policyTask
  env: Short-v0
  policy: { encoder: { kind: mlp, hidden: [8] } }
  generator: { use: environmentRollouts, env: Short-v0, policy: { get: game.policy }, count: 2, steps: 8 }
  worker: { defaultHooks: false, seed: 3 }
  transport: { use: natsTransport, run: poles }
  batchSize: 2
training: { epochs: 6, seed: 1, validate: { use: never } }
metrics: { system: false, timing: false }
checkpoints: { schedule: { use: every, epochs: 2 } }
hooks:
  - use: evaluationHook
    player: { get: task.player }
    suites: { short: { env: Short-v0 } }
    schedule: { use: every, epochs: 3 }
    episodes: 2
    mode: remote
    queue: { use: natsEvaluations, run: poles }
`,
);
const rl = new URL("../rl/index.ts", import.meta.url).href;
writeFileSync(
  join(folder, "environment.mts"),
  `import { cartPole, registerEnvironment } from ${JSON.stringify(rl)};
const made: number = 0;
registerEnvironment("Short-v0", { make: () => cartPole() });
export const forTrainers = () => {
  if (process.argv.includes("worker")) throw new Error("a worker does not need it");
  return made;
};
`,
);

/** Starts a command in the folder, with the server in its environment. */
function start(args: readonly string[], env: Readonly<Record<string, string>>) {
  const child = spawn(process.execPath, ["--import", import.meta.resolve("tsx"), main, ...args], {
    cwd: folder,
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, ...env },
  });
  started.add(child);
  let [out, errors] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    out += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    errors += text;
  });
  return once(child, "close").then(([code]) => ({ code: code as number | null, out, errors }));
}

describe("a run's configuration on other machines", { timeout: 300_000 }, () => {
  it.skipIf(!program)("makes workers and evaluators, by its file and by the run's directory", async () => {
    const server = await servers.start();
    const env = { NATS_URL: server.url, NATS_TOKEN: server.token ?? "" };
    const [trained, ...others] = await Promise.all([
      start(["train", "run.yaml", "--json"], env),
      start(["worker", "--config", "run.yaml", "--name", "first"], env),
      start(["evaluator", "--config", "run.yaml", "--json"], env),
    ]);
    expect(trained.code, trained.errors).toBe(0);
    const { outcome, counters, directory } = JSON.parse(trained.out);
    expect([outcome, counters.epochs]).toEqual(["completed", 6]);
    expect(counters.rollouts).toBeGreaterThanOrEqual(6);
    expect(others.map(({ code, errors }) => [code, errors.replace(/^run .* waiting.*\n/gm, "")])).toEqual([
      [0, ""],
      [0, ""],
    ]);
    expect(others[0]?.out).toMatch(
      /first-.* works for run "poles"[\s\S]*\d+ rollouts; run "poles" has ended/,
    );
    const lines = (others[1]?.out ?? "")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(lines.filter(({ kind }) => kind === "done").length).toBeGreaterThan(0);
    expect(readdirSync(join(directory, "checkpoints")).length).toBeGreaterThan(0);

    // By its directory alone: the run has ended, and that is all there is to do.
    rmSync(join(folder, "run.yaml"));
    const late = await start(["worker", "--config", directory, "--wait", "0"], env);
    expect([late.code, late.errors]).toEqual([0, ""]);
    expect(late.out).toMatch(/works for run "poles"\n0 rollouts; run "poles" has ended/);
    await server.stop();
  });

  it("says where a generator is missing", async () => {
    const text = readFileSync(
      fileURLToPath(new URL("../../examples/runs/07-pendulum.yaml", import.meta.url)),
      "utf8",
    );
    writeFileSync(join(folder, "pendulum.yaml"), text);
    const { code, errors } = await start(["worker", "--config", "pendulum.yaml", "--run", "x"], {});
    expect([code, errors]).toEqual([
      1,
      expect.stringMatching(/pendulum\.yaml:\d+:\d+ +task: .*generator.*CONFIG_INVALID/s),
    ]);
    const unnamed = await start(["worker"], {});
    expect([unnamed.code, unnamed.errors]).toEqual([1, expect.stringMatching(/OPTION_INVALID/)]);
  });
});
