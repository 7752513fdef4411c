import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath, pathToFileURL } from "node:url";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { checkpointHook } from "../checkpoint/index.ts";
import { startS3 } from "../checkpoint/store/s3-server.test-support.ts";
import { natsBroker, natsEvaluations } from "../cluster/index.ts";
import { describeRun, encode, listMembers } from "../cluster/members.ts";
import { requireNats, type TestServer, testServers } from "../cluster/server.test-support.ts";
import { Logger, type MetricRecord, metricsHook, openStatsStore } from "../metrics/index.ts";
import { here, makeDrift } from "../rl/evaluation/evaluation.test-support.ts";
import { folder, WalkTask, walkRun } from "../rl/evaluation/run.test-support.ts";
import { type EvaluationQueue, evaluateCheckpoint, evaluationHook, ppo, readReplay } from "../rl/index.ts";
import { every, noCounters } from "../schedule/index.ts";
import { latestReplay, type ReplayRecord, type TrainerHook } from "../trainer/index.ts";

const program = requireNats();
const servers = testServers();
const main = fileURLToPath(new URL("./main.ts", import.meta.url));
/** Each process starts Node and translates the program. */
const patience = { timeout: 300_000 };

interface Started {
  readonly child: ChildProcess;
  /** Lines of JSON that it has printed. */
  readonly lines: { readonly kind: string; readonly [name: string]: unknown }[];
  errors(): string;
  readonly ended: Promise<number | null>;
  /** Resolves when it has printed a line of this kind. */
  printed(kind: string): Promise<void>;
}

/** Starts the command in a process of its own. */
function start(
  args: readonly string[],
  { url, token = "" }: { readonly url: string; readonly token?: string | undefined },
  env: Readonly<Record<string, string>> = {},
): Started {
  const child = spawn(process.execPath, ["--import", "tsx", main, "evaluator", "--json", ...args], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, NATS_URL: url, NATS_TOKEN: token, ESPALIER_ENGINE: "wasm", ...env },
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const lines: Started["lines"] = [];
  let [rest, errors] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    const parts = (rest + text).split("\n");
    rest = parts.pop() ?? "";
    lines.push(...parts.map((line) => JSON.parse(line)));
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    errors += text;
  });
  const ended = once(child, "close").then(([code]) => code as number | null);
  const printed = async (kind: string): Promise<void> => {
    while (!lines.some((line) => line.kind === kind)) {
      if (child.exitCode !== null) throw new Error(`it has ended: ${errors}`);
      await setTimeout(20);
    }
  };
  return { child, lines, errors: () => errors, ended, printed };
}

/** A checkpoint of a run of Drift. */
async function savedDrift(): Promise<string> {
  const directory = folder();
  const task = new WalkTask(makeDrift, here("makeDrift"));
  await walkRun(task, [checkpointHook({ directory })], { epochs: 1 }).trainer.train();
  return directory;
}

const slow = pathToFileURL(fileURLToPath(new URL("./slow-drift.test-support.ts", import.meta.url))).href;
const slowSuites = { drift: { env: { module: slow, name: "makeSlowDrift" } } };

/** Submits an evaluation of seconds. */
const submitSlow = (queue: EvaluationQueue, checkpoint: string): Promise<void> =>
  queue.submit({
    ...{ id: "one", checkpoint, suites: slowSuites, episodes: 24, seed: 1, deterministic: true },
    ...{ run: "walk", step: 2, counters: { ...noCounters, steps: 2 } },
  });

const played = (file: string): readonly number[] =>
  existsSync(file) ? [...new Set(readFileSync(file, "utf8").trim().split("\n").map(Number))] : [];

const connected = (server: TestServer) => ({
  servers: server.url,
  token: server.token,
  warn: () => undefined,
});

describe.skipIf(!program)("espalier evaluator", patience, () => {
  it("evaluates the checkpoints of a PPO run, of which none is lost when the server is killed and restarted", async () => {
    let server = await servers.start();
    const directory = folder();
    const location = `${directory}/stats.db`;
    const store = await openStatsStore(location);
    const evaluators = ["a", "b"].map((name) => start(["--run", "poles", "--name", name], server));
    const records: MetricRecord[] = [];
    const sink = { name: "kept", write: (all: readonly MetricRecord[]) => void records.push(...all) };
    const restarts: TrainerHook = {
      name: "restarts",
      schedule: every({ epochs: 5 }),
      onEpochEnd: async () => {
        await server.kill();
        server = await server.restart();
      },
    };
    const suites = { poles: { env: "CartPole-v1" } };
    const queue = natsEvaluations({ ...connected(server), run: "poles", store: location });
    const warnings: string[] = [];
    const result = await ppo({ env: "CartPole-v1", seed: 1, engine: "wasm" }).train({
      steps: 12 * 256,
      config: { name: "poles" },
      warn: (text) => void warnings.push(text),
      hooks: (task) => [
        evaluationHook({
          ...{
            player: task.player,
            suites,
            episodes: 4,
            schedule: every({ epochs: 2 }),
            mode: "remote",
            queue,
          },
          ...{ run: "poles", replays: { directory: `${directory}/replays`, every: 4 } },
        }),
        checkpointHook({ directory: `${directory}/own`, keep: { last: 100 } }),
        metricsHook({
          logger: new Logger({ sinks: [sink] }),
          ...{ statsStore: store, run: { id: "poles" }, system: false, timing: false },
        }),
        restarts,
      ],
    });
    expect([result.outcome, result.hookFailures]).toEqual(["completed", []]);
    expect(warnings.filter((text) => !text.includes("there is no checkpoint yet"))).toEqual([]);
    expect(await Promise.all(evaluators.map(({ ended }) => ended))).toEqual([0, 0]);
    // Filed as they came.
    const rows = (await store.list("poles", "evaluation"))
      .filter(({ name }) => name === "poles")
      .sort((a, b) => a.step - b.step);
    const steps = rows.map(({ step }) => step);
    expect(steps.length).toBeGreaterThan(3);
    expect(new Set(steps).size).toBe(steps.length);
    const done = evaluators.flatMap(({ lines }) => lines.filter(({ kind }) => kind === "done"));
    expect(done.map(({ step }) => step).sort((a, b) => Number(a) - Number(b))).toEqual(steps);
    const logged = records.filter(({ key }) => key === "evaluation/poles.return");
    expect(logged.map(({ step, value }) => [step, value])).toEqual(
      rows.map(({ step, scores }) => [step, scores.return]),
    );
    const last = rows.at(-1);
    const again = await evaluateCheckpoint(last?.checkpoint ?? "", { episodes: 4, suites, engine: "wasm" });
    expect(last?.scores).toEqual(again.results[0]?.scores);
    const replays = await store.list("poles", "replay");
    expect(replays.map(({ step }) => step)).toEqual(steps.filter((_, i) => i % 4 === 0));
    expect((await readReplay(replays[0]?.uri ?? "")).about).toMatchObject({ run: "poles", suite: "poles" });
    await store.close();
  });

  it("that is killed with -9 in the middle: another does its job, once", async () => {
    const server = await servers.start();
    const log = `${folder()}/episodes`;
    const queue = natsEvaluations({ ...connected(server), run: "walk" });
    await submitSlow(queue, await savedDrift());
    const env = { ESPALIER_TEST_EPISODES: log };
    const first = start(["--run", "walk", "--name", "first"], server, env);
    while (played(log).length === 0) await setTimeout(20);
    first.child.kill("SIGKILL");
    const second = start(["--run", "walk", "--name", "second", "--jobs", "1"], server, env);
    const [outcome] = await queue.results("walk", { wait: true });
    expect(outcome?.results?.[0]?.scores.episodes).toBe(24);
    expect(await second.ended).toBe(0);
    expect(played(log)).toEqual([first.child.pid, second.child.pid]);
    expect([...first.lines, ...second.lines].filter(({ kind }) => kind === "done")).toHaveLength(1);
    await queue.close();
  });

  it("reads checkpoints from S3 and writes replays there", async () => {
    const server = await servers.start();
    const s3 = await startS3();
    onTestFinished(() => s3.close());
    for (const [name, value] of Object.entries(s3.env)) vi.stubEnv(name, value);
    onTestFinished(() => void vi.unstubAllEnvs());
    const evaluator = start(["--run", "walk"], server, s3.env);
    const task = new WalkTask(makeDrift, here("makeDrift"));
    const seen: ReplayRecord[] = [];
    const evaluation = evaluationHook({
      ...{
        player: task.player,
        suites: { drift: { env: here("makeDrift") } },
        schedule: every({ epochs: 1 }),
      },
      ...{ mode: "remote", queue: natsEvaluations({ ...connected(server), run: "walk" }) },
      replays: { directory: "s3://models/replays" },
    });
    const sees: TrainerHook = {
      name: "sees",
      onTrainingStart: () => undefined,
      onRegister: (host) =>
        host.observe({
          provided: (slot, value) =>
            void (slot.name === latestReplay.name && seen.push(value as ReplayRecord)),
        }),
    };
    const saves = checkpointHook({ directory: "s3://models/walk" });
    const { outcome, hookFailures } = await walkRun(task, [evaluation, saves, sees], {
      epochs: 1,
    }).trainer.train();
    expect([outcome, hookFailures]).toEqual(["completed", []]);
    expect(await evaluator.ended).toBe(0);
    expect(evaluator.lines.find(({ kind }) => kind === "done")).toMatchObject({
      checkpoint: "s3://models/walk/epoch-0001-update-000002",
      replays: [expect.stringMatching(/^s3:\/\/models\/replays\/step-.*\.replay$/)],
    });
    expect((await readReplay(seen[0]?.uri ?? "")).about).toMatchObject({
      run: "walk",
      suite: "drift",
      step: 2,
    });
  });

  it("gives its job back on SIGTERM, and another has it before anybody could have missed it", async () => {
    const server = await servers.start();
    const log = `${folder()}/episodes`;
    const queue = natsEvaluations({ ...connected(server), run: "walk" });
    await submitSlow(queue, await savedDrift());
    const env = { ESPALIER_TEST_EPISODES: log };
    const first = start(["--run", "walk", "--name", "first"], server, env);
    while (played(log).length === 0) await setTimeout(20);
    first.child.kill("SIGTERM");
    expect(await first.ended).toBe(143);
    expect(first.lines).toMatchObject([
      { kind: "joined" },
      { kind: "returned", step: 2 },
      { kind: "left", jobs: 0 },
    ]);
    const broker = await natsBroker(connected(server));
    expect((await listMembers(broker, "walk")).map(({ kind }) => kind)).toEqual(["trainer"]);
    const second = start(["--run", "walk", "--name", "second"], server, env);
    const [outcome] = await queue.results("walk", { wait: true });
    expect(outcome?.results?.[0]?.scores.episodes).toBe(24);
    await queue.close();
    expect(await second.ended).toBe(0);
    expect(second.lines.at(-1)).toEqual({ kind: "left", why: "ended", jobs: 1 });
    await broker.close();
  });

  it("knows environments that the run's module registers", async () => {
    const server = await servers.start();
    const file = fileURLToPath(new URL("./registers.test-support.ts", import.meta.url));
    const broker = await natsBroker(connected(server));
    const queue = natsEvaluations({ ...connected(server), run: "walk" });
    await describeRun(broker, { run: "walk", state: "running", module: file });
    await queue.submit({
      ...{
        id: "one",
        checkpoint: await savedDrift(),
        suites: { mine: { env: "Registered-v0" } },
        episodes: 1,
      },
      ...{ seed: 1, deterministic: true, run: "walk", step: 2, counters: { ...noCounters, steps: 2 } },
    });
    const only = start(["--run", "walk", "--jobs", "1"], server);
    const [outcome] = await queue.results("walk", { wait: true });
    expect(outcome).toMatchObject({ results: [{ suite: "mine", scores: { episodes: 1 } }] });
    expect(await only.ended).toBe(0);
    await Promise.all([queue.close(), broker.close()]);
  });

  it("says what is wrong, and what to do", async () => {
    const server = await servers.start();
    const broker = await natsBroker(connected(server));
    await describeRun(broker, { run: "walk", state: "running" });
    const runs = await broker.values("espalier-runs");
    await runs.put("older", encode({ run: "older", state: "running", version: "0.0.0" }));
    const all = [
      start(["--run", "maze", "--wait", "0"], server),
      start(["--run", "older"], server),
      start(["--run", "walk"], { ...server, token: "another-token" }),
      start(["--run", "walk", "--wait", "0"], { url: "nats://127.0.0.1:1" }),
      start(["--run", "walk", "--jobs", "0"], server),
      start([], server),
    ];
    expect(await Promise.all(all.map(({ ended }) => ended))).toEqual([1, 1, 1, 1, 1, 1]);
    const texts = all.map(({ errors }) => errors());
    expect(texts[0]).toMatch(/knows no run "maze".*CLUSTER_RUN_UNKNOWN.*walk/s);
    expect(texts[1]).toMatch(/CLUSTER_VERSION.*npm install espalier@0\.0\.0/s);
    expect(texts[2]).toMatch(/CLUSTER_REFUSED.*NATS_TOKEN/s);
    expect(texts[3]).toMatch(/CLUSTER_UNREACHABLE/);
    expect(texts[4]).toMatch(/--jobs is "0"/);
    expect(texts[5]).toMatch(/OPTION_INVALID.*--run NAME/s);
    await broker.close();
  });
});
