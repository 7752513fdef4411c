import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { manualClock } from "../../core/index.ts";
import { deferred } from "../../hooks/hooks.test-support.ts";
import { every, noCounters } from "../../schedule/index.ts";
import { ran, simulate } from "../../testing/index.ts";
import { heartbeat, heartbeatHook, isAlive, readHeartbeat } from "../index.ts";
import type { HeartbeatRow } from "../store/stats-store.ts";

function temporaryDirectory(): string {
  const path = mkdtempSync(join(tmpdir(), "espalier-heartbeat-"));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** A store that keeps heartbeats. */
function storeOf(add: (row: HeartbeatRow) => unknown = () => undefined) {
  const rows: (HeartbeatRow & { readonly run: string })[] = [];
  return {
    rows,
    location: "memory",
    add: async (run: string, _kind: string, given: readonly unknown[]) => {
      for (const row of given as HeartbeatRow[]) {
        await add(row);
        rows.push({ run, ...row });
      }
    },
  };
}

const at = (steps: number) => ({ ...noCounters, steps });

describe("a heartbeat", () => {
  it("is a whole file and a row: when, where, who, what", async () => {
    const directory = temporaryDirectory();
    const file = join(directory, "deep", "heartbeat.json");
    const statsStore = storeOf();
    const heart = heartbeat({ file, statsStore, run: "mine", clock: manualClock(1000) });
    await heart.beat(at(7), "train");
    const row = { wall: 1000, step: 7, pid: process.pid, host: hostname(), phase: "train" };
    expect(JSON.parse(readFileSync(file, "utf8"))).toEqual({ run: "mine", ...row });
    expect(statsStore.rows).toEqual([{ run: "mine", ...row }]);
    await heart.beat(at(8), "rollout");
    expect(readHeartbeat(file)).toMatchObject({ step: 8, phase: "rollout" });
    expect(readdirSync(join(directory, "deep"))).toEqual(["heartbeat.json"]);
  });

  it("stops nothing where file and store fail, and says so once each", async () => {
    const file = join(temporaryDirectory(), "file");
    writeFileSync(file, "");
    const warnings: string[] = [];
    const statsStore = storeOf(() => {
      throw new Error("no database");
    });
    const heart = heartbeat({
      file: join(file, "heartbeat.json"),
      statsStore,
      run: "mine",
      warn: (text) => warnings.push(text),
    });
    await heart.beat(at(1), "train");
    await heart.beat(at(2), "train");
    expect(warnings.sort()).toEqual([
      expect.stringMatching(/^no heartbeat in .*heartbeat.json: E.*not said again$/),
      "no heartbeat in memory: no database; training goes on, and this is not said again",
    ]);
  });

  it("keeps the newest of what comes while a slow store is busy, and does not wait for it elsewhere", async () => {
    const busy = deferred();
    const file = join(temporaryDirectory(), "heartbeat.json");
    const statsStore = storeOf(() => busy.promise);
    const heart = heartbeat({ file, statsStore, run: "mine" });
    const all = [1, 2, 3, 4].map((step) => heart.beat(at(step), "train"));
    // The file has them while the store still holds the first.
    while (readHeartbeat(file)?.step !== 4) await new Promise((resolve) => setImmediate(resolve));
    expect(statsStore.rows).toEqual([]);
    busy.resolve();
    await Promise.all(all);
    await heart.close();
    expect(statsStore.rows.map(({ step }) => step)).toEqual([1, 4]);
  });

  it.each<[string, object, RegExp]>([
    ["nobody to hear it", { run: "a" }, /not said where to/],
    ["a misspelt option", { run: "a", fil: "x" }, /no option "fil"; did you mean "file"/],
    ["a file that is none", { run: "a", file: 3 }, /file is 3/],
    ["a store that is none", { run: "a", statsStore: {} }, /statsStore is \{\}/],
    ["no run", { run: "", file: "x" }, /run is ""/],
  ])("refuses %s", (_title, options, message) => {
    expect(() => heartbeat(options as never)).toThrow(message);
  });
});

describe("heartbeatHook", () => {
  it("beats at the start, by the clock, and at the end with the outcome", async () => {
    const statsStore = storeOf();
    const file = join(temporaryDirectory(), "heartbeat.json");
    const run = await simulate(heartbeatHook({ statsStore, file }), {
      batches: 100,
      secondsPerBatch: 1,
      config: { name: "mine" },
    });
    expect(ran(run, "heartbeat", "batches")).toEqual([30, 60, 90]);
    expect(statsStore.rows[0]).toMatchObject({ run: "mine", step: 0, phase: "none" });
    expect(statsStore.rows.at(-1)).toMatchObject({ step: 100, phase: "completed", wall: 100_000 });
    expect(readHeartbeat(file)).toMatchObject({ step: 100, phase: "completed" });
  });

  it("says how a failed run ended", async () => {
    const statsStore = storeOf();
    await simulate(heartbeatHook({ statsStore, run: "id" }), { failAt: 3 });
    expect(statsStore.rows.at(-1)).toMatchObject({ run: "id", phase: "failed" });
  });

  it("leaves batches fused over epochs", async () => {
    const hook = heartbeatHook({ statsStore: storeOf(), schedule: every({ seconds: 1 }) });
    const run = await simulate(hook, { epochs: 3, fuse: true });
    expect(ran(run, "heartbeat", "batches", "onBatchesEnd")).toEqual([30]);
  });

  it("lets a run end well whose store fails, with one warning", async () => {
    const statsStore = storeOf(() => Promise.reject(new Error("gone")));
    const run = await simulate(heartbeatHook({ statsStore, schedule: every({ updates: 1 }) }));
    expect(run.outcome).toBe("completed");
    expect(run.warnings).toEqual([expect.stringMatching(/^heartbeat: no heartbeat in memory: gone/)]);
  });

  it.each<[string, object, RegExp]>([
    ["nobody to hear it", {}, /not said where to/],
    ["a misspelt option", { file: "x", shedule: 3 }, /did you mean "schedule"/],
    ["a schedule that is none", { file: "x", schedule: 30 }, /schedule is 30.*every\(\{ seconds: 30 \}\)/s],
  ])("refuses %s", (_title, options, message) => {
    expect(() => heartbeatHook(options as never)).toThrow(message);
  });
});

describe("isAlive", () => {
  const row = { wall: 1000, step: 1, pid: 1, host: "elsewhere", phase: "train" };

  it("believes a beat for as long as its patience", () => {
    expect(isAlive(row, { now: 1000 + 120_000 })).toBe(true);
    expect(isAlive(row, { now: 1001 + 120_000 })).toBe(false);
    expect(isAlive(row, { now: 12_000, patience: 10 })).toBe(false);
    expect(isAlive(undefined)).toBe(false);
  });

  it("knows that a run has ended, and that a process of this machine is gone", () => {
    expect(isAlive({ ...row, phase: "completed" }, { now: 1000 })).toBe(false);
    expect(isAlive({ ...row, phase: "failed" }, { now: 1000 })).toBe(false);
    const here = { ...row, host: hostname() };
    expect(isAlive({ ...here, pid: process.pid }, { now: 1000 })).toBe(true);
    // No process has this number.
    expect(isAlive({ ...here, pid: 2 ** 30 }, { now: 1000 })).toBe(false);
  });

  it("reads a file; none is not alive, and anything else is an error", async () => {
    const file = join(temporaryDirectory(), "heartbeat.json");
    expect(isAlive(file)).toBe(false);
    await heartbeat({ file, run: "mine" }).beat(at(1), "train");
    expect(isAlive(file)).toBe(true);
    for (const text of ["", "null", '{"wall":"now"}']) {
      writeFileSync(file, text);
      expect(() => isAlive(file)).toThrow(/is not a heartbeat.*HEARTBEAT_INVALID/s);
    }
  });
});
