import { expect, it } from "vitest";
import { noCounters } from "../schedule/index.ts";
import { fileRun, fileValue, makeDirectory, serveDashboard } from "./dashboard.test-support.ts";

it("watches a run that begins after the page has asked for it", async () => {
  const { store, listen } = await serveDashboard();
  const listener = await listen("later");
  await fileRun(store, "later");
  expect(await listener.next("runs")).toMatchObject({ changed: [{ id: "later", state: "running" }] });
  // The watcher begins at one of its looks: what comes after that one is news.
  let came: unknown;
  void listener.next("metrics").then((event) => {
    came = event;
  });
  for (let step = 1; came === undefined; step++) {
    await fileValue(store, "later", step, step);
    await listener.next("runs", ({ changed }: { changed: { counters: { steps?: number } }[] }) =>
      changed.some(({ counters }) => counters.steps === step),
    );
  }
  expect(came).toMatchObject({ run: "later" });
});

it("tells of control, of a directory that a run leaves, and of runs that are gone", async () => {
  const { store, directory, listen, send } = await serveDashboard();
  await fileRun(store, "a", { startedAt: 1 });
  await fileRun(store, "b");
  const state = { state: "running", pid: process.pid, wall: 1, counters: {}, ramps: {}, hooks: {} };
  makeDirectory(directory, "a", { "control/state.json": JSON.stringify(state), "control/journal.jsonl": "" });
  const listener = await listen("a");
  const record = { request: { id: "r", action: "pause" }, outcome: "applied", counters: { batches: 1 } };
  makeDirectory(directory, "a", {
    "control/state.json": JSON.stringify({ ...state, state: "paused" }),
    "control/journal.jsonl": `${JSON.stringify(record)}\n`,
  });
  expect(await listener.next("control")).toEqual({
    run: "a",
    state: { ...state, state: "paused" },
    records: [record],
  });
  await send("DELETE", "/api/runs/a?confirm=a");
  expect(await listener.next("runs", ({ gone }: { gone: string[] }) => gone.length > 0)).toMatchObject({
    gone: ["a"],
  });
});

it("shows the last lines of a log, one without its end among them", async () => {
  const { store, directory, get } = await serveDashboard();
  await fileRun(store, "cut");
  makeDirectory(directory, "cut", { "run.log": "first\nkilled while wri" });
  expect(await get("/api/runs/cut/log")).toEqual({ lines: ["first", "killed while wri"], from: 0, to: 22 });
});

it("watches a run that is new under the id of one that was deleted", async () => {
  const { store, directory, listen, send } = await serveDashboard();
  const ended = { outcome: "completed", counters: { ...noCounters, steps: 9 } } as const;
  await fileRun(store, "again");
  for (let step = 1; step <= 9; step++) await fileValue(store, "again", step, step);
  await store.endRun("again", ended);
  const listener = await listen("again");
  await send("DELETE", "/api/runs/again?confirm=again");
  await listener.next("runs", ({ gone }: { gone: string[] }) => gone.includes("again"));
  await fileRun(store, "again");
  await fileValue(store, "again", 1, 7);
  expect(await listener.next("metrics")).toMatchObject({
    series: { "train/loss": { step: [1], value: [7] } },
  });
  makeDirectory(directory, "again", { "run.log": "a line\n" });
  expect(await listener.next("log")).toMatchObject({ lines: ["a line"] });
  await listener.next("runs", ({ anew }: { anew: string[] }) => anew.includes("again"));
});

it("says when a run goes on from an earlier point", async () => {
  const { store, listen } = await serveDashboard();
  await fileRun(store, "back", { startedAt: 1 });
  await fileValue(store, "back", 5, 1);
  const listener = await listen("back");
  await store.startRun({
    id: "back",
    name: "back",
    startedAt: 2,
    config: {},
    resumedAt: { ...noCounters, steps: 2 },
    continues: true,
  });
  expect(await listener.next("runs")).toMatchObject({ anew: ["back"], changed: [{ resumes: 1 }] });
  await fileValue(store, "back", 3, 1);
  expect(await listener.next("runs")).toMatchObject({ anew: [], changed: [{ counters: { steps: 3 } }] });
});

it("tells of answers whoever asked, also to those who ask later", async () => {
  const { store, directory, get, listen } = await serveDashboard();
  await fileRun(store, "a");
  const state = { state: "running", pid: process.pid, wall: 1, counters: {}, ramps: {}, hooks: {} };
  const listener = await listen("a");
  const record = {
    request: { id: "r", action: "pause", who: "\u202e\u2028\u200d" },
    outcome: "applied",
    counters: {},
  };
  makeDirectory(directory, "a", {
    "control/journal.jsonl": `${JSON.stringify(record)}\n`,
    "control/state.json": JSON.stringify(state),
  });
  expect(await listener.next("control")).toMatchObject({ records: [record] });
  expect(await get("/api/runs/a")).toMatchObject({ answers: [record] });
});
