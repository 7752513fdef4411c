import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import type { Database } from "./database.ts";
import { migrate } from "./database.ts";
import { fixtureEvents, fixtureRecords, fixtureRun } from "./fixture.test-support.ts";
import { newMemory } from "./insert-metrics.ts";
import { openPostgres } from "./postgres.ts";
import { openSqlite } from "./sqlite.ts";
import { openStatsStore } from "./stats-store.ts";
import { aRecord, aRun, describeStores } from "./stores.test-support.ts";

describeStores("the schema", ({ kind, location, open, query }) => {
  const openDatabase = (where: string): Database | Promise<Database> =>
    kind === "sqlite" ? openSqlite(where) : openPostgres(where);

  it("of version 1 becomes the newest, with what is in it", async () => {
    const where = await location();
    const old = await openDatabase(where);
    await migrate(old, 1);
    const row = { id: "old", name: "old", started_at: 1, process: "[1,null]", outcome: "running" };
    await old.tables
      .insertInto("runs")
      .values({ ...row, config: "{}", resumes: 0 })
      .execute();
    await old.tables
      .insertInto("run_heads")
      .values({ run: 1, counters: "{}", places: 0, block_rows: 0 })
      .execute();
    await old.insertMetrics("old", [aRecord(1, 0.5)], newMemory());
    expect(await old.tableNames()).not.toContain("episodes");
    await old.close();

    const store = await open(where);
    await store.addMetrics("old", [aRecord(1, 0.5), aRecord(2, 0.25)]);
    await store.add("old", "episode", [{ step: 1, return: 1, length: 1, wall: 1 }]);
    expect((await store.series("old", "train/loss")).map(({ value }) => value)).toEqual([0.5, 0.25]);
    expect(await store.list("old", "episode")).toHaveLength(1);
    const versions = await query(where, "select version, name from {migrations} order by version");
    expect(versions.map(({ version }) => Number(version))).toEqual([1, 2, 3, 4]);
  });

  it("that is newer than we are is refused, and left as it is", async () => {
    const where = await location();
    await (await open(where)).startRun(aRun("a"));
    await query(where, "insert into {migrations} values (99, 'from the future', 1) returning version");
    await expect(openStatsStore(where)).rejects.toMatchObject({
      code: "STATS_NEWER",
      message: expect.stringMatching(/version 99 .* up to 4/),
      fix: expect.stringContaining("update espalier"),
    });
    expect(await query(where, "select id from {runs}")).toHaveLength(1);
  });

  if (kind !== "postgres") return;

  it("stands beside tables of the same names", async () => {
    const where = await location();
    await query(where, "create table runs (run_uuid text); create table migrations (id int)");
    const store = await open(where);
    await store.startRun(aRun("a"));
    expect(await query(where, "select * from public.runs")).toEqual([]);
    expect(await store.runs()).toHaveLength(1);
  });

  it("needs a database that exists", async () => {
    const where = `${await location()}_not`;
    await expect(openStatsStore(where)).rejects.toMatchObject({
      code: "STATS_UNAVAILABLE",
      message: expect.stringMatching(/store_\d+_not does not exist/),
      fix: expect.stringContaining("create the database"),
    });
  });
});

it("a file that version 2 wrote is read", async () => {
  const folder = mkdtempSync(join(tmpdir(), "espalier-fixture-"));
  const path = join(folder, "stats.db");
  copyFileSync(fileURLToPath(new URL("./fixtures/version-2.db", import.meta.url)), path);
  const store = await openStatsStore(path);
  expect(await store.run("fixture")).toMatchObject({
    name: fixtureRun.name,
    outcome: "completed",
    endedAt: 5000,
  });
  const { rows } = await store.since("fixture", 0);
  expect(rows.map(({ key, step, value, text }) => [key, step, value ?? text])).toEqual(
    fixtureRecords.map(({ key, step, value }) => [key, step, value]),
  );
  for (const { kind, rows } of fixtureEvents) expect(await store.list("fixture", kind)).toEqual(rows);
  expect(await store.hookTimings("fixture")).toHaveLength(1);
  await store.close();
  rmSync(folder, { recursive: true });
});
