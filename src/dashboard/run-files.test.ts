import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { Holder, somebody } from "../checkpoint/fakes.test-support.ts";
import { CheckpointManager, localStore } from "../checkpoint/index.ts";
import { makeEnvironment, recordEpisode, writeReplay } from "../rl/index.ts";
import type { CheckpointDetail, CheckpointSummary, Film, ReplaySummary } from "./api.ts";
import { fileRun, makeDirectory, serveDashboard } from "./dashboard.test-support.ts";

const counters = (updates: number) => ({ epochs: updates, updates, steps: 10 * updates });

it("checkpoints are listed, looked into, verified and protected, from the run that saves them too", async () => {
  const { store, directory, get, send, ask } = await serveDashboard();
  await fileRun(store, "a");
  const own = makeDirectory(directory, "a");
  const manager = new CheckpointManager({
    store: localStore(join(own, "checkpoints")),
    keep: { last: 1 },
    computedBy: async () => somebody,
  });
  const save = (updates: number) =>
    manager.save(
      { model: new Holder({ weights: Float32Array.of(1, 2, 3), step: 5, name: "<b>" }) },
      { counters: counters(updates), metrics: { loss: 1 / updates } },
    );
  const first = await save(1);
  const list = () => get<readonly CheckpointSummary[]>("/api/runs/a/checkpoints");
  expect(await list()).toEqual([
    {
      name: first.name,
      ranks: 1,
      counters: first.manifest.counters,
      bytes: first.bytes,
      protected: false,
      metrics: { "train/loss": 1 },
      savedAt: first.manifest.savedAt,
    },
  ]);
  const path = `/api/runs/a/checkpoints/${first.name}`;
  expect(await get<CheckpointDetail>(path)).toMatchObject({
    counters: { updates: 1 },
    components: [
      {
        name: "model",
        tensors: [{ path: "weights", dtype: "f32", shape: [3] }],
        values: { name: "<b>", step: 5 },
      },
    ],
  });
  expect((await send("POST", `${path}/protect`, { protected: true })).json).toMatchObject({
    protected: true,
  });
  expect((await send("POST", `${path}/protect`, { protected: true })).status).toBe(200);
  const second = await save(2);
  const third = await save(3);
  // The second was pruned, the first is protected.
  expect((await list()).map(({ name }) => name)).toEqual([third.name, first.name]);
  expect(
    (await send("POST", `/api/runs/a/checkpoints/${second.name}/protect`, { protected: true })).status,
  ).toBe(404);
  expect((await send("POST", `${path}/protect`, { protected: "yes" })).status).toBe(400);

  expect((await send("POST", `${path}/verify`, {})).json).toEqual({ problems: [] });
  const file = join(first.path, "values.bin");
  const bytes = readFileSync(file);
  bytes[bytes.length - 1] = (bytes.at(-1) as number) ^ 1;
  writeFileSync(file, bytes);
  expect((await send("POST", `${path}/verify`, {})).json).toMatchObject({
    problems: [expect.stringContaining("model")],
  });

  expect((await send("POST", `${path}/protect`, { protected: false })).json).toMatchObject({
    protected: false,
  });
  await save(4);
  expect((await list()).map(({ counters }) => counters?.steps)).toEqual([40]);
  expect(await ask(path)).toMatchObject({ status: 404, json: { error: { code: "CHECKPOINT_MISSING" } } });
  await manager.close();
});

it("replays are listed and drawn", async () => {
  const { store, directory, get, ask } = await serveDashboard();
  await fileRun(store, "a");
  const own = makeDirectory(directory, "a");
  const env = makeEnvironment("CartPole-v1");
  const replay = await recordEpisode({ env, seed: 3, act: () => 1 });
  const { path } = await writeReplay(join(own, "replays"), replay, { name: "first" });
  await store.add("a", "replay", [{ step: 40, path, uri: undefined, wall: 1 }]);
  // One that was filed from elsewhere is not opened, whatever it is.
  const outside = await writeReplay(join(directory, "..", "other"), replay, { name: "outside" });
  await store.add("a", "replay", [{ step: 50, path: outside.path, uri: undefined, wall: 1 }]);
  expect(await get<readonly ReplaySummary[]>("/api/runs/a/replays")).toEqual([
    { name: "first", step: 40, at: expect.any(Number), steps: replay.length, return: replay.return },
  ]);
  const film = await get<Film>("/api/runs/a/replays/first");
  expect(film.frames).toHaveLength(replay.length + 1);
  expect(film.frames[0]).toMatch(/^<svg[\s\S]*<\/svg>\s*$/);
  expect(film.frames.join("")).not.toContain("<script");
  expect((await ask("/api/runs/a/replays/outside")).status).toBe(404);
  // One that another run has written over, in a directory that both were given.
  await fileRun(store, "b");
  const shared = await writeReplay(
    join(directory, "replays"),
    { ...replay, about: { run: "b", step: 60 } },
    { name: "shared" },
  );
  for (const run of ["a", "b"])
    await store.add(run, "replay", [{ step: 60, path: shared.path, uri: undefined, wall: 1 }]);
  expect(await get<readonly ReplaySummary[]>("/api/runs/a/replays")).toHaveLength(1);
  expect(await get<readonly ReplaySummary[]>("/api/runs/b/replays")).toHaveLength(1);
  writeFileSync(join(own, "replays", "broken.replay"), "no replay");
  expect(await get<readonly ReplaySummary[]>("/api/runs/a/replays")).toHaveLength(2);
});

it("runs are marked, and deleted once they have ended", async () => {
  const { store, directory, get, send } = await serveDashboard();
  await fileRun(store, "a");
  await fileRun(store, "ab");
  const own = makeDirectory(directory, "a", { "checkpoints/x": "", "run.log": "log\n" });
  const beat = { wall: Date.now(), step: 1, pid: process.pid, host: hostname(), phase: "train" };
  writeFileSync(join(own, "heartbeat.json"), JSON.stringify(beat));
  expect((await send("POST", "/api/runs/a/marks", { tags: ["x"], archived: true })).json).toMatchObject({
    id: "a",
    state: "running",
    tags: ["x"],
    archived: true,
  });
  expect((await send("DELETE", "/api/runs/a?confirm=a")).json).toMatchObject({
    error: { code: "RUN_ALIVE" },
  });
  await store.endRun("a", { outcome: "stopped", counters: {} as never });
  for (const confirm of ["", "?confirm=", "?confirm=ab", "?confirm=A"])
    expect((await send("DELETE", `/api/runs/a${confirm}`)).status).toBe(400);
  expect(existsSync(own)).toBe(true);
  expect((await send("DELETE", "/api/runs/a?confirm=a")).json).toEqual({});
  expect(existsSync(own)).toBe(false);
  expect(readdirSync(directory).filter((name) => !name.startsWith("stats.db"))).toEqual([]);
  expect(await get("/api/runs")).toMatchObject([{ id: "ab" }]);
  // A directory of the same name that is another run's stays.
  await store.endRun("ab", { outcome: "stopped", counters: {} as never });
  const other = makeDirectory(directory, "ab", { "run.json": JSON.stringify({ id: "other" }) });
  expect((await send("DELETE", "/api/runs/ab?confirm=ab")).json).toMatchObject({
    error: { code: "RUN_MISSING" },
  });
  expect(existsSync(other)).toBe(true);
});

it("requests reach the directory of a run that listens, whole and checked", async () => {
  const { store, directory, send } = await serveDashboard();
  await fileRun(store, "a");
  const request = { action: "set", ramp: "rate", value: 0.5, id: "r1", who: "me", at: 1 };
  expect((await send("POST", "/api/runs/a/control", request)).json).toMatchObject({
    error: { code: "DASHBOARD_NOT_LISTENING" },
  });
  const state = { state: "running", pid: process.pid, wall: 1, counters: {}, ramps: {}, hooks: {} };
  const beat = { wall: Date.now(), step: 1, pid: process.pid, host: hostname(), phase: "train" };
  const own = makeDirectory(directory, "a", {
    "control/state.json": JSON.stringify(state),
    "control/requests/.keep": "",
    "heartbeat.json": JSON.stringify(beat),
  });
  const sent = await send("POST", "/api/runs/a/control", request);
  expect(sent.json).toMatchObject({ ...request, at: expect.any(Number) });
  const requests = join(own, "control", "requests");
  expect(JSON.parse(readFileSync(join(requests, "r1.json"), "utf8"))).toEqual(sent.json);
  for (const wrong of [
    { ...request, id: "../../x" },
    { ...request, action: "explode" },
    { ...request, value: "0.5" },
    { ...request, more: 1 },
    { ...request, who: "" },
    [request],
    null,
  ])
    expect((await send("POST", "/api/runs/a/control", wrong)).status).toBe(400);
  const fixed = { action: "disable", hook: "control.start", id: "r3", who: "me" };
  const refused = await send("POST", "/api/runs/a/control", fixed);
  expect(refused).toMatchObject({ status: 409, json: { error: { code: "CONTROL_REFUSED" } } });
  expect(refused.json.error?.message).toMatch(/stays enabled/);
  expect(readdirSync(requests).sort()).toEqual([".keep", "r1.json"]);
  await store.endRun("a", { outcome: "stopped", counters: {} as never });
  expect((await send("POST", "/api/runs/a/control", { ...request, id: "r2" })).status).toBe(409);
});

it("sweeps show their trials, from their file or from the labels of runs", async () => {
  const { store, directory, get } = await serveDashboard();
  for (const [i, rate] of [0.1, 0.2].entries())
    for (const sweep of ["filed", "labelled"]) {
      const id = `${sweep}-t${i}`;
      await fileRun(store, id, { startedAt: i, config: { task: { rate }, sweep: { id: sweep, trial: i } } });
      await store.endRun(id, { outcome: "completed", counters: {} as never });
    }
  const trial = (number: number, rate: number) => ({
    number,
    values: { "task.rate": rate },
    state: "complete",
    value: rate * 10,
    rungs: {},
    members: [{ seed: 0, run: `filed-t${number}` }],
  });
  makeDirectory(directory, "filed", {
    "trials.json": JSON.stringify({
      version: 1,
      id: "filed",
      options: { metric: "train/loss", direction: "maximize", parameters: { "task.rate": [0.1, 0.2] } },
      trials: [trial(0, 0.1), trial(1, 0.2), { ...trial(2, 0.3), members: [{ seed: 0 }] }],
    }),
  });
  makeDirectory(join(directory, "filed"), "filed-t0", { "config.yaml": "task: { rate: 0.1 }\n" });
  expect(await get("/api/sweeps")).toEqual([
    {
      id: "labelled",
      metric: "",
      parameters: ["task.rate"],
      trials: [
        { run: "labelled-t1", state: "completed", values: { "task.rate": "0.2" }, result: null },
        { run: "labelled-t0", state: "completed", values: { "task.rate": "0.1" }, result: null },
      ],
    },
    {
      id: "filed",
      metric: "train/loss",
      direction: "maximize",
      parameters: ["task.rate"],
      trials: [
        { run: "filed-t1", state: "completed", values: { "task.rate": "0.2" }, result: 2 },
        { run: "filed-t0", state: "completed", values: { "task.rate": "0.1" }, result: 1 },
      ],
    },
  ]);
  expect(await get("/api/runs/filed-t0")).toMatchObject({ sweep: "filed", hasDirectory: true });
});

it("hooks have their plan, timings and reasons", async () => {
  const { store, directory, get, ask } = await serveDashboard();
  await fileRun(store, "a");
  makeDirectory(directory, "a", { "plan.txt": "1. evaluation: because\n" });
  await store.setHookTimings("a", [{ hook: "evaluation", count: 2, mean: 1, p99: 2, max: 2, total: 2 }]);
  await store.add("a", "decision", [
    { hook: "evaluation", event: "onEpochEnd", ran: true, why: "due", fromStep: 10, toStep: 30, times: 3 },
  ]);
  await store.add("a", "intervention", [{ step: 5, wall: 1, who: "evaluation", what: "disabled" }]);
  expect(await get("/api/runs/a/hooks")).toEqual({
    plan: "1. evaluation: because\n",
    hooks: [{ name: "evaluation", enabled: false, count: 2, mean: 1, p99: 2, max: 2, total: 2 }],
  });
  expect(await get("/api/runs/a/why?hook=evaluation")).toEqual({
    hook: "evaluation",
    lines: ["onEpochEnd at steps 10 to 30: it ran 3 times: due"],
  });
  expect(await get("/api/runs/a/why?hook=evaluation&at=20")).toMatchObject({
    lines: [expect.stringContaining("every 10 steps, it ran here")],
  });
  expect((await ask("/api/runs/a/why?hook=none")).status).toBe(404);
});

it("a cluster that is not there is a text", async () => {
  const { get } = await serveDashboard();
  expect(await get("/api/cluster")).toEqual({ problem: expect.stringContaining("NATS_URL"), runs: [] });
});
