import { expect, it } from "vitest";
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
