import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { type AddressInfo, createConnection } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { openStatsStore } from "../metrics/index.ts";
import { fileRun, fileValue } from "./dashboard.test-support.ts";
import { Live } from "./live.ts";
import { Runs } from "./runs.ts";

it("drops a client that does not read what it is sent", async () => {
  const directory = mkdtempSync(join(tmpdir(), "espalier-live-"));
  const store = await openStatsStore(join(directory, "stats.db"));
  const runs = await Runs.open({ store, directory });
  const live = new Live(runs);
  const server = createServer((_, response) => void live.listen(response, ["a"]));
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  onTestFinished(async () => {
    live.close();
    server.closeAllConnections();
    server.close();
    await runs.close();
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
