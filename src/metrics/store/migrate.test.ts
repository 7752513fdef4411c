import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import type { MetricRecord } from "../record.ts";
import type { Database } from "./database.ts";
import { migrate } from "./database.ts";
import { fixtureEvents, fixtureRecords, fixtureRun } from "./fixture.test-support.ts";
import { openPostgres } from "./postgres.ts";
import { openSqlite } from "./sqlite.ts";
import { openStatsStore } from "./stats-store.ts";
import { columnOf, formOf, identityOf } from "./stored-values.ts";
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
      .values({ run: 1, counters: "{}", places: 1, block: 1, block_rows: 1 })
      .execute();
    await insertBlocks(old, [[aRecord(1, 0.5)]]);
    expect(await old.tableNames()).not.toContain("episodes");
    await old.close();

    const store = await open(where);
    await store.addMetrics("old", [aRecord(1, 0.5), aRecord(2, 0.25)]);
    await store.add("old", "episode", [{ step: 1, return: 1, length: 1, wall: 1 }]);
    expect((await store.series("old", "train/loss")).map(({ value }) => value)).toEqual([0.5, 0.25]);
    expect(await store.list("old", "episode")).toHaveLength(1);
    const versions = await query(where, "select version, name from {migrations} order by version");
    expect(versions.map(({ version }) => Number(version))).toEqual([1, 2, 3, 4, 5]);
  });

  it("of version 4 gets summaries of what is in it", async () => {
    const where = await location();
    const old = await openDatabase(where);
    await migrate(old, 4);
    const row = { id: "old", name: "old", started_at: 1, process: "[1,null]", outcome: "running" };
    await old.tables
      .insertInto("runs")
      .values({ ...row, config: "{}", resumes: 0 })
      .execute();
    const head = { run: 1, counters: "{}", places: 4000, block: 101, block_rows: 40, sealed_wall: 2e12 };
    await old.tables.insertInto("run_heads").values(head).execute();
    // A hundred blocks of forty rows that are sealed, and one that is open.
    const values = (step: number): number =>
      step % 10 === 3 ? Number.NaN : step % 10 === 7 ? Number.POSITIVE_INFINITY : step;
    const records = Array.from({ length: 4040 }, (_, step) => aRecord(step, values(step)));
    await insertBlocks(
      old,
      Array.from({ length: 101 }, (_, block) => records.slice(40 * block, 40 * block + 40)),
    );
    await old.close();

    const store = await open(where);
    expect(await store.metrics("old")).toEqual([{ key: "train/loss", points: 4040 }]);
    expect(await store.latest("old")).toMatchObject([{ step: 4039, value: 4039 }]);
    const spans = await query(where, "select * from {metric_spans}");
    expect(spans).toHaveLength(100);
    const [first, ...others] = await store.buckets("old", "train/loss", { points: 40 });
    expect([first, ...others].reduce((sum, bucket) => sum + (bucket?.count ?? 0), 0)).toBe(4040);
    expect(first).toMatchObject({ min: 0, max: expect.any(Number) });
    expect(others.at(-1)).toMatchObject({ x: 4039, max: 4039 });
    expect([first, ...others].reduce((sum, bucket) => sum + (bucket?.notFinite ?? 0), 0)).toBe(808);
    // It goes on: what comes again is known, and what is new is there.
    await store.addMetrics("old", [aRecord(4039, 4039), aRecord(4040, 1)]);
    expect(await store.metrics("old")).toEqual([{ key: "train/loss", points: 4041 }]);
  });

  it("that is newer than we are is refused, and left as it is", async () => {
    const where = await location();
    await (await open(where)).startRun(aRun("a"));
    await query(where, "insert into {migrations} values (99, 'from the future', 1) returning version");
    await expect(openStatsStore(where)).rejects.toMatchObject({
      code: "STATS_NEWER",
      message: expect.stringMatching(/version 99 .* up to 5/),
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

/** Rows as versions before 5 wrote them: blocks, the last of them open. */
async function insertBlocks(
  { tables }: Database,
  blocks: readonly (readonly MetricRecord[])[],
): Promise<void> {
  const { key, category, name, axis, reduction } = aRecord(1, 1);
  await tables
    .insertInto("metric_keys")
    .values({ run: 1, key, category, name, unit: "", axis, reduction })
    .execute();
  let place = 0;
  for (const [i, records] of blocks.entries()) {
    await tables
      .insertInto("metric_blocks")
      .values({
        run: 1,
        sealed: i + 1 < blocks.length ? 1 : 0,
        first_wall: 1,
        last_wall: 2e12,
        last_place: 40 * i + 40,
      })
      .execute();
    const rows = records.map((record) => ({
      ...{ block: i + 1, key: 1, step: record.step, identity: identityOf(record, null), place: ++place },
      ...{ wall: record.wall, value: columnOf(record.value), form: formOf(record.value), body: null },
      ...{ count: record.count, not_finite: record.notFinite },
    }));
    await tables.insertInto("metrics").values(rows).execute();
  }
}

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
