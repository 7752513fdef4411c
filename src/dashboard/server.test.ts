import { appendFileSync, mkdtempSync, rmSync } from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { openStatsStore } from "../metrics/index.ts";
import { fileRun, fileValue, makeDirectory, recordOf, serveDashboard } from "./dashboard.test-support.ts";
import { applied } from "./delta.ts";

it("shows runs, their metrics and series", async () => {
  const { store, directory, get } = await serveDashboard();
  await fileRun(store, "first", { startedAt: 1, limits: { steps: 20 } });
  for (let step = 1; step <= 10; step++)
    await fileValue(store, "first", step, step === 4 ? Number.NaN : step);
  await fileRun(store, "second", { startedAt: 2, config: { rate: 0.2, sweep: { id: "s", trial: 3 } } });
  await store.endRun("second", { outcome: "completed", counters: { steps: 3 } as never });
  makeDirectory(directory, "first", { "config.yaml": "task: { rate: 0.5 }\n" });

  expect(await get("/api/session")).toMatchObject({ control: false, directory });
  expect(await get("/api/runs")).toMatchObject([
    { id: "second", state: "completed", progress: 1, sweep: "s" },
    { id: "first", state: "lost", progress: 0.5, tags: [], archived: false },
  ]);
  expect(await get("/api/runs/first")).toMatchObject({
    config: "task: { rate: 0.5 }\n",
    metrics: [{ key: "train/loss", category: "train", name: "loss", axis: "steps", last: 10 }],
    hasDirectory: true,
  });
  expect(await get("/api/series?run=first&key=train/loss&points=5")).toEqual([
    {
      run: "first",
      key: "train/loss",
      values: 10,
      notFinite: 1,
      x: [2, 4, 6, 8, 10],
      min: [1, 3, 5, 7, 9],
      max: [2, 3, 6, 8, 10],
      mean: [1.5, 3, 5.5, 7.5, 9.5],
    },
  ]);
  const [first, second] = ["first", "second"].map((run) => new URLSearchParams({ run, key: "train/loss" }));
  expect(await get(`/api/series?${first}&${second}&points=40`)).toMatchObject([
    { run: "first", mean: [1, 2, 3, null, 5, 6, 7, 8, 9, 10] },
    { run: "second", mean: [] },
  ]);
  expect(await get("/api/compare?run=first&run=second")).toMatchObject({
    settings: { "task.rate": ["0.5", null], rate: [null, "0.2"] },
  });
});

it("sends what is new to those who listen", async () => {
  const { store, directory, listen, get } = await serveDashboard();
  await fileRun(store, "a");
  await fileValue(store, "a", 1, 1);
  const own = makeDirectory(directory, "a", { "run.log": "one\n" });
  const listener = await listen("a");
  // What is filed before the watcher has begun is not news: it is asked for by series.
  await fileRun(store, "b");
  expect(await listener.next("runs")).toMatchObject({ changed: [{ id: "b" }], gone: [] });
  await fileValue(store, "a", 2, Number.POSITIVE_INFINITY);
  expect(await listener.next("metrics")).toEqual({
    run: "a",
    series: { "train/loss": { step: [2], time: [1_800_000_000_002], value: [null] } },
  });
  appendFileSync(join(own, "run.log"), "two \x1b[2J\nthr");
  expect(await listener.next("log")).toEqual({ run: "a", lines: ["two \\x1b[2J"], from: 4, to: 13 });
  appendFileSync(join(own, "run.log"), "ee\n");
  expect(await listener.next("log")).toMatchObject({ lines: ["three"] });
  expect(await get("/api/runs/a/log")).toEqual({ lines: ["one", "two \\x1b[2J", "three"], from: 0, to: 19 });
  await store.add("a", "evaluation", [{ step: 3, name: "evaluation", scores: { return: 1 }, wall: 1 }]);
  expect(await listener.next("event")).toEqual({ run: "a", kind: "evaluation" });
  expect(await get("/api/runs/a/events?kind=evaluation")).toMatchObject([{ scores: { return: 1 } }]);
});

it("sends what has changed in an answer to those who hold the one before", async () => {
  const { store, ask } = await serveDashboard();
  await fileRun(store, "a");
  const file = (step: number) =>
    store.add("a", "evaluation", [{ step, name: "evaluation", scores: { return: step }, wall: step }]);
  for (let step = 0; step < 20; step++) await file(step);
  const look = (held?: unknown) => {
    const headers = {
      "a-im": "espalier-delta",
      ...(held !== undefined && { "if-none-match": String(held) }),
    };
    return ask("/api/runs/a/events?kind=evaluation", { headers });
  };
  const first = await look();
  expect(first).toMatchObject({ status: 200, json: { length: 20 } });
  const same = await look(first.headers.etag);
  expect(same).toMatchObject({ status: 304, text: "" });
  await file(20);
  const more = await look(first.headers.etag);
  expect(more).toMatchObject({ status: 226, headers: { im: "espalier-delta" } });
  expect(more.json).toMatchObject({ list: [[0, 20], { is: { step: 20 } }] });
  expect(applied(first.json, JSON.parse(more.text))).toEqual(
    (await ask("/api/runs/a/events?kind=evaluation")).json,
  );
  // What the server does not know any more comes whole.
  expect(await look('"unknown"')).toMatchObject({ status: 200, json: { length: 21 } });
});

it("serves the page's files", async () => {
  const { ask } = await serveDashboard();
  const page = await ask("/");
  expect(page).toMatchObject({ status: 200, text: "<!doctype html><title>page</title>" });
  expect(page.headers).toMatchObject({
    "content-type": "text/html; charset=utf-8",
    "cache-control": "no-cache",
  });
  const script = "/assets/index-a1B2c3D4.js";
  const zipped = await ask(script, { headers: { "accept-encoding": "gzip" } });
  expect(zipped.headers).toMatchObject({
    "content-encoding": "gzip",
    "cache-control": expect.stringContaining("immutable"),
  });
  expect((await ask(script)).text).toContain("page page");
  expect((await ask("/assets/other.js")).status).toBe(404);
});

it("waits for a stats store that is not there yet", async () => {
  const folder = mkdtempSync(join(tmpdir(), "espalier-later-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const location = join(folder, "runs", "stats.db");
  const { get, listen } = await serveDashboard({ store: location });
  expect(await get("/api/session")).toMatchObject({ store: location });
  expect(await get("/api/runs")).toEqual([]);
  const listener = await listen();
  const store = await openStatsStore(location);
  onTestFinished(() => store.close());
  await fileRun(store, "first");
  expect(await listener.next("runs")).toMatchObject({ changed: [{ id: "first", state: "running" }] });
  await fileValue(store, "first", 1, 0.5);
  expect(await get("/api/runs/first")).toMatchObject({ isFiled: true, metrics: [{ key: "train/loss" }] });
});

it("opens the stats store that takes the place of one that was removed", async () => {
  const folder = mkdtempSync(join(tmpdir(), "espalier-again-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const location = join(folder, "stats.db");
  const file = async (id: string) => {
    const store = await openStatsStore(location);
    await fileRun(store, id);
    await store.close();
  };
  await file("first");
  const { get } = await serveDashboard({ store: location });
  expect(await get("/api/runs")).toMatchObject([{ id: "first" }]);
  for (const end of ["", "-wal", "-shm"]) rmSync(location + end, { force: true });
  expect(await get("/api/runs")).toEqual([]);
  await file("second");
  expect(await get("/api/runs")).toMatchObject([{ id: "second" }]);
  expect(await get("/api/runs/second")).toMatchObject({ isFiled: true });
});

it("shows a run that has a directory alone, by what is in it", async () => {
  const { store, directory, get, send } = await serveDashboard();
  const beat = {
    run: "alone",
    wall: Date.now(),
    step: 7,
    pid: process.pid,
    host: hostname(),
    phase: "train",
  };
  makeDirectory(directory, "alone", {
    "run.json": recordOf({ id: "alone", name: "mine", created: "2026-01-31T12:00:00Z" }),
    "config.yaml": "task: { rate: 0.5 }\n",
    "heartbeat.json": JSON.stringify(beat),
    "run.log": "a line\n",
  });
  makeDirectory(directory, "other", { "run.json": recordOf({ id: "another" }) });
  makeDirectory(directory, "broken", { "run.json": "{" });
  expect(await get("/api/runs")).toMatchObject([
    { id: "alone", name: "mine", state: "running", counters: { steps: 7 }, startedAt: 1_769_860_800_000 },
  ]);
  expect(await get("/api/runs/alone")).toMatchObject({
    config: "task: { rate: 0.5 }\n",
    isFiled: false,
    metrics: [],
  });
  expect(await get("/api/runs/alone/log")).toMatchObject({ lines: ["a line"] });
  expect(await get("/api/series?run=alone&key=train/loss")).toMatchObject([{ x: [] }]);
  expect((await send("POST", "/api/runs/alone/marks", { archived: true })).json.error?.message).toMatch(
    /stats store/,
  );
  await fileRun(store, "alone", { name: "filed" });
  expect(await get("/api/runs")).toMatchObject([{ id: "alone", name: "filed" }]);
  expect(await get("/api/runs/alone")).toMatchObject({ isFiled: true });
});
