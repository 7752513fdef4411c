import { spawnSync } from "node:child_process";
import { hostname } from "node:os";
import { describe, expect, it } from "vitest";
import { noCounters } from "../../schedule/index.ts";
import { completed, espalier, filed, NOW, record, testStores } from "./runs.test-support.ts";

const { path, testStore } = testStores();
const runs = (...args: readonly string[]) => espalier(["runs", "--store", path("stats.db"), ...args]);

describe("espalier runs", () => {
  it("lists runs, newest first, with outcome, start, duration, extent and loss", async () => {
    const store = await testStore();
    await filed(store, "aaaa1111", [record("train/loss", 100, 0.5)], { name: "old", ending: completed });
    await filed(store, "bbbb2222", [record("train/loss", 500, Number.NaN)], {
      ...{ name: "new", startedAt: NOW - 60_000 },
    });
    const { code, text } = await runs();
    expect(code).toBe(0);
    const [head, first, second] = text.split("\n");
    expect(head).toMatch(/^run +name +outcome +started +duration +done +train\/loss$/);
    expect(first).toMatch(/^bbbb2222 +new +running +2026-11-15 11:59 .* NaN$/);
    expect(second).toMatch(/^aaaa1111 +old +completed +2026-11-15 11:50 .* 3 epochs, 300 updates +0\.5$/);
  });

  it("says of a running run for how long it was silent", async () => {
    const store = await testStore();
    await filed(store, "a", [record("train/loss", 1, 1, { wall: NOW - 400_000 })]);
    await store.add("a", "heartbeat", [
      { wall: NOW - 310_000, step: 1, pid: 1, host: "here", phase: "train" },
    ]);
    expect((await runs()).text).toContain(" no sign of life since 2026-11-15 11:54 ");
    expect(JSON.parse((await runs("--json")).text)).toMatchObject([
      { outcome: "running", silent: true, lastSign: NOW - 310_000 },
    ]);
    await store.add("a", "heartbeat", [
      { wall: NOW - 20_000, step: 1, pid: 1, host: "here", phase: "train" },
    ]);
    expect((await runs()).text).toMatch(/ running {2,}2026/);
  });

  it("shows how far a run was that was killed, by what it filed last", async () => {
    const store = await testStore();
    await filed(store, "a", [record("train/loss", 100, 1, { axis: "steps", wall: NOW - 500_000 })]);
    await store.add("a", "checkpoint", [{ step: 120, path: "c", uri: undefined, wall: NOW - 480_000 }]);
    expect((await runs()).text).toMatch(/ 2 min 00 s +120 steps +1$/m);
    const resumedAt = { ...noCounters, steps: 120, updates: 120, epochs: 30, seconds: 60 };
    await store.startRun({ id: "a", name: "a", startedAt: NOW - 400_000, config: null, resumedAt });
    const beats = [130, 140].map((step, i) => ({ step, wall: NOW - 400_000 + i * 30_000 }));
    const beat = { pid: 1, host: "elsewhere", phase: "train" };
    await store.add("a", "heartbeat", [{ ...beat, step: 120, wall: NOW - 400_000 }]);
    expect((await runs()).text).toMatch(/ 1 min 00 s +30 epochs, 120 updates +1$/m);
    for (const { step, wall } of beats) await store.add("a", "heartbeat", [{ ...beat, step, wall }]);
    // What it counted up to its checkpoint, and since.
    expect((await runs()).text).toMatch(
      /no sign of life since 2026-11-15 11:53 .* 1 min 30 s +140 steps +1$/m,
    );
  });

  it("does not wait for minutes where the process was one of this machine and is gone", async () => {
    const store = await testStore();
    await filed(store, "a", []);
    const beat = { step: 5, phase: "train", host: hostname(), wall: NOW - 1000 };
    const { pid = 0 } = spawnSync(process.execPath, ["-e", ""]);
    await store.add("a", "heartbeat", [{ ...beat, pid }]);
    expect((await runs()).text).toMatch(/no sign of life since 2026-11-15 11:59 .* 5 steps/);
    await store.add("a", "heartbeat", [{ ...beat, pid: process.pid }]);
    expect((await runs()).text).toMatch(/ running /);
  });

  it("shows another metric, by name where the heading does not say it", async () => {
    const store = await testStore();
    await filed(store, "a", [record("train/policy_loss", 1, 2), record("eval/return", 1, 7)]);
    expect((await runs()).text).toContain("2 (train/policy_loss)");
    const { text } = await runs("--metric", "eval/return");
    expect(text).toMatch(/done +eval\/return\n.* 7$/m);
  });

  it("limits the list and says so", async () => {
    const store = await testStore();
    for (const id of ["a", "b", "c"]) await filed(store, id, []);
    const { text } = await runs("--limit", "2");
    expect(text.match(/no sign of life/g)).toHaveLength(2);
    expect(text).toContain("the newest 2; --limit N lists more");
    expect((await runs("--limit", "3")).text).not.toContain("--limit");
  });

  it("prints JSON that keeps what is not finite", async () => {
    const store = await testStore();
    await filed(store, "a", [record("train/loss", 3, Number.NaN)], { ending: completed });
    expect(JSON.parse((await runs("--json")).text)).toMatchObject([
      { id: "a", outcome: "completed", silent: false, metric: { key: "train/loss", value: "NaN", step: 3 } },
    ]);
  });

  it("obeys nothing that a name holds", async () => {
    const store = await testStore();
    await filed(store, "a", [], { name: "x\u001b]0;owned\u0007\ny" });
    const { text } = await runs();
    expect(text).toContain("x\\x1b]0;owned\\x07\\ny");
    expect(text.split("\n")).toHaveLength(3);
  });

  it("cuts a name of a megabyte, and says how long it is", async () => {
    const store = await testStore();
    await filed(store, "a", [], { name: "x".repeat(1_000_000) });
    const { text } = await runs();
    expect(text).toContain("xxx... (1000000 characters)");
    expect(text.length).toBeLessThan(2000);
  });

  it("says that a store is empty", async () => {
    const { location } = await testStore();
    expect((await runs()).text).toBe(`${location} holds no runs\n`);
  });

  it.each(["0", "-1", "x", "1.5", ""])("refuses --limit %j", async (limit) => {
    const { code, error } = await runs(`--limit=${limit}`);
    expect(code).toBe(1);
    expect(error).toMatch(/--limit is ".*" \[OPTION_INVALID\]\n +fix: /);
  });

  it("says where it looked for a store, and how to name another", async () => {
    const { code, error } = await espalier(["runs"], { env: { ESPALIER_STORE: "no/such.db" } });
    expect(code).toBe(1);
    expect(error).toMatch(/no stats store no\/such\.db \[STATS_MISSING\]\n +fix: .*give --store/);
    expect((await espalier(["runs"], { env: {} })).error).toContain("runs/stats.db");
    expect((await espalier(["runs", "--store", "other.db"], { env: {} })).error).toContain("other.db");
  });
});
