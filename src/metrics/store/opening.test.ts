import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "@photostructure/sqlite";
import { afterAll, describe, expect, it } from "vitest";
import { openStatsStore } from "./stats-store.ts";
import { aRecord, aRun } from "./stores.test-support.ts";

const folder = mkdtempSync(join(tmpdir(), "espalier-opening-"));
afterAll(() => rmSync(folder, { recursive: true }));

describe("a SQLite file", () => {
  it("is made with its directory, and not by those who only read", async () => {
    const path = join(folder, "new", "runs", "stats.db");
    await expect(openStatsStore(path, { create: false })).rejects.toMatchObject({ code: "STATS_MISSING" });
    expect(existsSync(join(folder, "new"))).toBe(false);
    const store = await openStatsStore(path);
    expect(store.location).toBe(path);
    expect(await store.runs()).toEqual([]);
    await store.close();
    await (await openStatsStore(path, { create: false })).close();
  });

  it("that is none is left as it is", async () => {
    const path = join(folder, "notes.txt");
    const text = "These are my notes.\n".repeat(100);
    writeFileSync(path, text);
    await expect(openStatsStore(path)).rejects.toMatchObject({
      code: "STATS_INVALID",
      message: expect.stringContaining(path),
      fix: expect.stringContaining("another file"),
    });
    expect(readFileSync(path, "utf8")).toBe(text);
  });

  it("of something else is left as it is", async () => {
    const path = join(folder, "photos.db");
    const other = new DatabaseSync(path);
    other.exec("create table photos (name text); create table migrations (id integer)");
    await expect(openStatsStore(path)).rejects.toMatchObject({ code: "STATS_INVALID" });
    expect(other.prepare("select name from sqlite_master order by name").all()).toHaveLength(2);
    other.close();
  });

  it("that is damaged is an error of what is read, not of the process", async () => {
    const path = join(folder, "damaged.db");
    const store = await openStatsStore(path);
    await store.startRun(aRun("a"));
    for (let step = 0; step < 20; step++)
      await store.addMetrics(
        "a",
        Array.from({ length: 100 }, (_, metric) => aRecord(step, metric, { name: `m${metric}` })),
      );
    await store.close();
    const bytes = readFileSync(path);
    writeFileSync(path, bytes.fill(0xa5, 4096 * 4));
    await expect(
      (async () => {
        const again = await openStatsStore(path);
        try {
          await again.since("a", 0);
        } finally {
          await again.close();
        }
      })(),
    ).rejects.toMatchObject({ code: "STATS_INVALID" });
  });

  it.each([
    ["below a file", "stop.txt/runs/stats.db"],
    ["that is a directory", "."],
    ["with a name that is too long", `${"x".repeat(300)}.db`],
  ])("%s cannot be written to", async (_, name) => {
    writeFileSync(join(folder, "stop.txt"), "");
    await expect(openStatsStore(join(folder, name))).rejects.toMatchObject({
      code: "STATS_UNWRITABLE",
      fix: expect.stringContaining("can be written to"),
    });
  });

  it("that another keeps is waited for, while the process goes on", async () => {
    const path = join(folder, "kept.db");
    const store = await openStatsStore(path);
    await store.startRun(aRun("a"));
    const other = new DatabaseSync(path);
    other.exec("begin immediate");
    const filed = store.addMetrics("a", [aRecord(1, 1)]);
    const event = store.add("a", "heartbeat", [{ step: 1, wall: 1, pid: 1, host: "h", phase: "p" }]);
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
    expect(await store.metrics("a")).toEqual([]);
    other.exec("rollback");
    expect(filed).toBeInstanceOf(Promise);
    await Promise.all([filed, event]);
    expect(store.addMetrics("a", [aRecord(2, 1)])).toBeUndefined();
    expect(await store.metrics("a")).toEqual([{ key: "train/loss", points: 2 }]);
    await expect(store.addMetrics("b", [aRecord(2, 1)])).rejects.toThrow(/no run "b"/);
    other.close();
    await store.close();
  });
});

describe("a Postgres server", () => {
  /** All that is told of a failure, causes and properties included. */
  const told = (error: unknown): string =>
    error instanceof Error
      ? `${error.message} ${error.stack} ${JSON.stringify(error)} ${told(error.cause)}`
      : String(error);

  it("that is not there is an error without the password", async () => {
    // A port that was free a moment ago.
    const server = createServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => server.on("listening", resolve));
    const { port } = server.address() as { readonly port: number };
    await new Promise((resolve) => server.close(resolve));
    const error = await openStatsStore(`postgres://me:hush%21@127.0.0.1:${port}/runs`).catch(
      (error) => error,
    );
    expect(error).toMatchObject({
      code: "STATS_UNAVAILABLE",
      message: expect.stringContaining(`postgres://me@127.0.0.1:${port}/runs`),
    });
    expect(told(error)).not.toMatch(/hush/);
  });

  it.each(["postgres://me:hush@:bad:port/runs", "postgresql://me:hush@host:99999/runs"])(
    "needs a URL that can be read: %s",
    async (url) => {
      const error = await openStatsStore(url).catch((error) => error);
      expect(error).toMatchObject({
        code: "STATS_LOCATION_INVALID",
        fix: expect.stringContaining("postgres://"),
      });
      expect(told(error)).not.toMatch(/hush/);
    },
  );

  it("is not any other, nor nowhere", async () => {
    await expect(openStatsStore("")).rejects.toMatchObject({ code: "STATS_LOCATION_INVALID" });
    await expect(openStatsStore("mysql://me:hush@host/runs")).rejects.toMatchObject({
      code: "STATS_LOCATION_INVALID",
      message: expect.not.stringContaining("hush"),
    });
  });
});
