import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { type AddressInfo, createConnection } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { openStatsStore } from "../metrics/index.ts";
import { fileRun, fileValue, makeDirectory, serveDashboard } from "./dashboard.test-support.ts";
import { Live } from "./live.ts";

it("drops a client that does not read what it is sent", async () => {
  const directory = mkdtempSync(join(tmpdir(), "espalier-live-"));
  const store = await openStatsStore(join(directory, "stats.db"));
  const live = new Live({ store, directory });
  const server = createServer((_, response) => void live.listen(response, ["a"]));
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  onTestFinished(async () => {
    live.close();
    server.closeAllConnections();
    server.close();
    await store.close();
    rmSync(directory, { recursive: true });
  });
  await fileRun(store, "a");
  const connect = async () => {
    const socket = createConnection({ host: "127.0.0.1", port: (server.address() as AddressInfo).port });
    socket.on("error", () => undefined);
    socket.write("GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
    await new Promise((resolve) => socket.once("data", resolve));
    return socket;
  };
  const [reading, stuck] = [await connect(), await connect()];
  let received = "";
  reading.on("data", (data) => {
    received += data;
  });
  stuck.pause();
  expect(live.size).toBe(2);
  // Some hundred kilobytes at each look, until more waits for it than it is worth. The other one reads all of it.
  const name = "long".repeat(500);
  for (let step = 1; live.size === 2; step++) {
    received = "";
    for (let i = 0; i < 100; i++) await fileValue(store, "a", step, i, `train/${name}-${i}`);
    await fileValue(store, "a", step, 0, `train/last-${step}`);
    while (!received.includes(`last-${step}"`)) await new Promise((resolve) => reading.once("data", resolve));
  }
  expect(live.size).toBe(1);
  expect(reading.destroyed).toBe(false);
}, 60_000);

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
