import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type MetricRecord, openStatsStore } from "../metrics/index.ts";
import {
  ask,
  findPostgres,
  type PostgresServer,
  password,
  startPostgres,
} from "../metrics/store/postgres.test-support.ts";
import type { Comparison, LiveEvents, RunDetail, RunSummary, Series, Session } from "./api.ts";
import { fileRun, type ServedDashboard, serveDashboard } from "./dashboard.test-support.ts";

// A run that trains in a process of its own and files in a Postgres server, and dashboards over that database. Tests
// watch the run, steer it and stop it, and then look at what is left: each goes on from where the one before left it.

const found = findPostgres();
const folder = mkdtempSync(join(tmpdir(), "espalier-dashboard-postgres-"));
const directory = join(folder, "runs");
const main = fileURLToPath(new URL("../cli/main.ts", import.meta.url));
const children = new Set<ChildProcess>();
/** What the processes printed: shown where a test does not find its run. */
const said: string[] = [];

const config = (stats: string): string => `name: balance
engine: wasm
task: { use: ppo, env: CartPole-v1, environments: 8, rolloutSteps: 16, totalSteps: 10000000 }
training: { seed: 1 }
metrics: { system: { schedule: { use: every, seconds: 1 } } }
checkpoints: false
stats: ${stats}
`;

function espalier(...args: readonly string[]): ChildProcess & { readonly stdout: NodeJS.ReadableStream } {
  const child = spawn(process.execPath, ["--import", import.meta.resolve("tsx"), main, ...args], {
    cwd: folder,
    env: { ...process.env, ESPALIER_STORE: "" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  children.add(child);
  child.once("close", () => children.delete(child));
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text) => said.push(text));
  return child;
}

async function stop(child: ChildProcess): Promise<void> {
  const closed = once(child, "close");
  child.kill("SIGTERM");
  expect(await closed, said.join("")).toEqual([0, null]);
}

/** The records of a run as its own file has them, which no database has seen. */
const recordsOf = (run: string): readonly MetricRecord[] =>
  readFileSync(join(directory, run, "metrics.jsonl"), "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => {
      const { text, histogram, value = text ?? histogram, ...record } = JSON.parse(line);
      return { ...record, value: /^(NaN|-?Infinity)$/.test(value) ? Number(value) : value };
    });

describe.skipIf("missing" in found)("the dashboard over Postgres", { timeout: 120_000 }, () => {
  let server: PostgresServer;
  let url = "";
  let shown = "";
  let training: ChildProcess;
  let run = "";

  /** A dashboard over the database, as `espalier dashboard --store` opens it. */
  const serve = async (): Promise<ServedDashboard> =>
    serveDashboard({ store: await openStatsStore(url, { create: false }), root: folder });

  beforeAll(async () => {
    if ("missing" in found) return;
    server = await startPostgres(found.programs);
    url = await server.newDatabase();
    shown = url.replace(`:${password}`, "");
    mkdirSync(directory);
    writeFileSync(join(folder, "balance.yaml"), config(url));
  });

  afterAll(async () => {
    for (const child of children) {
      child.kill("SIGKILL");
      await once(child, "close");
    }
    await server?.remove();
    rmSync(folder, { recursive: true, force: true });
  });

  it("is opened by the command before there is a run, and says where without the password", async () => {
    const child = espalier("dashboard", "--store", url, "--port", "0");
    const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
    expect((await lines.next()).value, said.join("")).toBe(`0 runs in ${shown}`);
    const [address] = /^http:[^#]*/.exec((await lines.next()).value) ?? [];
    const get = async (path: string) => (await fetch(`${address}api/${path}`)).json();
    expect(await get("session")).toMatchObject({ store: shown, control: false });
    expect(await get("runs")).toEqual([]);
    const store = await openStatsStore(url);
    await fileRun(store, "other", { startedAt: 1 });
    await store.close();
    expect(await get("runs")).toMatchObject([{ id: "other", state: "lost" }]);
    await stop(child);
  });

  it("lists a run that begins, and sends its values as they are written", async () => {
    const { listen, get } = await serve();
    const list = await listen();
    training = espalier("train", "balance.yaml");
    const begun = (await list.next("runs")) as LiveEvents["runs"];
    expect(begun, said.join("")).toMatchObject({
      changed: [{ name: "balance", state: "running" }],
      gone: [],
    });
    run = begun.changed[0]?.id ?? "";

    const key = "train/loss";
    const values = await listen(run);
    const seen: number[][] = [];
    while (seen.length < 40) {
      const { series } = (await values.next(
        "metrics",
        (event: LiveEvents["metrics"]) => key in event.series,
      )) as LiveEvents["metrics"];
      const { step = [], value = [] } = series[key] ?? {};
      seen.push(...step.map((each, i) => [each, value[i] ?? Number.NaN]));
    }
    const steps = seen.map(([step = 0]) => step);
    expect(steps).toEqual([...steps].sort((a, b) => a - b));
    const [from, to] = [String(steps[0]), String(steps.at(-1))];
    // Fine enough for each value to be a point.
    const query = new URLSearchParams({ run, key, from, to, points: "10000" });
    const [series] = await get<readonly Series[]>(`/api/series?${query}`);
    expect(series?.x.map((x, i) => [x, series.mean[i]])).toEqual(seen);

    expect(await get<readonly RunSummary[]>("/api/runs")).toMatchObject([
      { id: run, name: "balance", state: "running", heartbeat: expect.any(Number), tags: [] },
      { id: "other" },
    ]);
    const detail = await get<RunDetail>(`/api/runs/${run}`);
    expect(detail).toMatchObject({ isFiled: true, hasDirectory: true, control: { state: "running" } });
    expect(detail.progress).toBeGreaterThan(0);
    expect(detail.metrics.find((metric) => metric.key === key)).toMatchObject({
      category: "train",
      axis: "steps",
      last: expect.any(Number),
    });
    expect(detail.config).toContain("env: CartPole-v1");
  });

  it("steers the run, and sends what the run then files", async () => {
    const { listen, get, send } = await serve();
    const events = await listen(run);
    const tell = async (action: string): Promise<void> => {
      const answer = await send("POST", `/api/runs/${run}/control`, { action, id: action, who: "Ada" });
      expect(answer.status, answer.text).toBe(200);
      await events.next("event", ({ kind }: LiveEvents["event"]) => kind === "intervention");
    };
    await tell("pause");
    await tell("stop");
    const told = await get<readonly { who: string; what: string }[]>(
      `/api/runs/${run}/events?kind=intervention`,
    );
    expect(told.filter(({ who }) => who === "Ada")).toMatchObject([{ what: "pause" }, { what: "stop" }]);
    await events.next("runs", ({ changed }: LiveEvents["runs"]) =>
      changed.some(({ id, state }) => id === run && state === "stopped"),
    );
    if (training.exitCode === null) await once(training, "close");
    expect(training.exitCode, said.join("")).toBe(0);
    const { hooks } = await get<{ hooks: readonly { name: string; count: number }[] }>(
      `/api/runs/${run}/hooks`,
    );
    expect(hooks.find(({ name }) => name === "metrics")?.count).toBeGreaterThan(0);
    expect(await get(`/api/runs/${run}/why?hook=metrics`)).toMatchObject({ lines: [expect.any(String)] });
  });

  it("thins series as SQLite does", async () => {
    const records = recordsOf(run);
    const store = await openStatsStore(join(folder, "copy", "stats.db"));
    await fileRun(store, run, { name: "balance" });
    await store.addMetrics(run, records);
    const [postgres, sqlite] = [await serve(), await serveDashboard({ store })];
    const { metrics } = await sqlite.get<RunDetail>(`/api/runs/${run}`);
    expect((await postgres.get<RunDetail>(`/api/runs/${run}`)).metrics).toEqual(metrics);

    const scalars = metrics.filter(({ last }) => last !== undefined);
    expect(scalars.length).toBeGreaterThan(20);
    const curves = scalars.map(({ key }) => new URLSearchParams({ run, key })).join("&");
    const last = Math.max(...records.map(({ step }) => step));
    const choices: readonly Record<string, string>[] = [
      { points: "30" },
      { points: "7" },
      { points: "12", axis: "time" },
      { points: "5", from: String(last / 4), to: String(last / 2) },
    ];
    for (const choice of choices) {
      const path = `/api/series?${curves}&${new URLSearchParams(choice)}`;
      const [own, expected] = await Promise.all([
        postgres.get<readonly Series[]>(path),
        sqlite.get<readonly Series[]>(path),
      ]);
      for (const [i, { mean, ...exact }] of own.entries()) {
        const { mean: means = [], ...others } = expected[i] ?? {};
        expect(exact).toEqual(others);
        // A database adds in an order of its own.
        for (const [at, value] of mean.entries()) {
          const other = means[at] ?? 0;
          expect(Math.abs((value ?? 0) - other)).toBeLessThanOrEqual(1e-12 * Math.max(1, Math.abs(other)));
        }
      }
      const loss = own.find(({ key }) => key === "train/loss");
      expect(loss?.x.length).toBeLessThanOrEqual(Number(choice.points));
      expect(loss?.values).toBeGreaterThan(loss?.x.length ?? 0);
    }
  });

  it("is opened by its URL, and never shows the password", async () => {
    const { get, ask } = await serveDashboard({ store: url, root: folder });
    expect(await get<Session>("/api/session")).toMatchObject({ store: shown });
    expect(await get("/api/runs")).toMatchObject([{ id: run, state: "stopped" }, { id: "other" }]);
    // The run needs it to be resumed.
    expect(readFileSync(join(directory, run, "config.yaml"), "utf8")).toContain(password);
    const { config } = await get<RunDetail>(`/api/runs/${run}`);
    expect(config).toContain(`stats: ${url.replace(password, "***")}`);
    const { settings } = await get<Comparison>(`/api/compare?run=${run}&run=other`);
    expect(settings.stats).toEqual([url.replace(password, "***"), null]);
    for (const path of ["", "/hooks", "/log", "/events?kind=intervention"])
      expect((await ask(`/api/runs/${run}${path}`)).text).not.toContain(password);
  });

  it("says that the server is away, and goes on when it is back", async () => {
    const { ask, get, listen, store } = await serve();
    const events = await listen();
    await server.stop(true);
    const away = await ask("/api/runs");
    expect(away).toMatchObject({ status: 503, json: { error: { code: "STATS_UNAVAILABLE" } } });
    expect(away.text).not.toContain(password);
    await server.start();
    expect(await get("/api/runs")).toHaveLength(2);
    await store.endRun("other", { outcome: "completed", counters: {} as never });
    expect(await events.next("runs")).toMatchObject({ changed: [{ id: "other", state: "completed" }] });
  });

  it("tags, archives and deletes runs in the database", async () => {
    const { listen, send } = await serve();
    const events = await listen();
    expect(await send("POST", `/api/runs/${run}/marks`, { tags: ["kept"], archived: true })).toMatchObject({
      status: 200,
      json: { id: run, tags: ["kept"], archived: true },
    });
    expect(await events.next("runs")).toMatchObject({ changed: [{ id: run, archived: true }] });
    const rows = () => ask(url, "select id, tags, archived::int from espalier.runs order by started_at");
    expect(await rows()).toMatchObject([{ id: "other" }, { id: run, tags: '["kept"]', archived: 1 }]);
    expect((await send("DELETE", `/api/runs/${run}?confirm=${run}`)).status).toBe(200);
    expect(await events.next("runs")).toEqual({ changed: [], anew: [], gone: [run] });
    expect(await rows()).toMatchObject([{ id: "other" }]);
    const [left] = await ask(url, "select count(*)::int as rows from espalier.metrics");
    expect(left).toEqual({ rows: 0 });
    expect(existsSync(join(directory, run))).toBe(false);
  });
});
