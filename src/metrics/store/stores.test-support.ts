import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, it } from "vitest";
import type { Clock } from "../../core/index.ts";
import { noCounters } from "../../schedule/index.ts";
import { inSample } from "../../sweep.test-support.ts";
import type { MetricRecord } from "../record.ts";
import type { RunInfo } from "../run-info.ts";
import { ask, findPostgres, type PostgresServer, startPostgres } from "./postgres.test-support.ts";
import type { StatsStore } from "./stats-store.ts";
import { openStatsStore } from "./stats-store.ts";

/** A database to test on. */
export interface Place {
  readonly kind: "sqlite" | "postgres";
  /** Where a new, empty store may be. */
  location(): Promise<string>;
  /** Opens a store, a new one where no location is said. It is closed after the test. */
  open(location?: string, clock?: Clock): Promise<StatsStore>;
  /** Asks the database itself, past the store. Tables of Postgres have `espalier.` before their names: write `{table}`. */
  query(location: string, sql: string): Promise<readonly Record<string, unknown>[]>;
  /** The server, where there is one. */
  server(): PostgresServer;
}

/** Says the same of a store on SQLite and, where it is installed, on Postgres. */
export function describeStores(name: string, tests: (place: Place) => void): void {
  describeSqlite(name, tests);
  describePostgres(name, tests);
}

/** The same in a `*.sweep.test.ts`: SQLite in the sample, Postgres in the rest. */
export const sweepStores = inSample ? describeSqlite : describePostgres;

function describeSqlite(name: string, tests: (place: Place) => void): void {
  describe(`${name}, SQLite`, () => {
    let folder = "";
    let files = 0;
    beforeAll(() => {
      folder = mkdtempSync(join(tmpdir(), "espalier-stats-"));
    });
    afterAll(() => rmSync(folder, { recursive: true }));
    tests({
      kind: "sqlite",
      ...opening(async () => join(folder, `store-${++files}`, "stats.db")),
      async query(location, sql) {
        const { DatabaseSync } = await import("@photostructure/sqlite");
        const database = new DatabaseSync(location);
        try {
          return database.prepare(sql.replace(/[{}]/g, "")).all() as Record<string, unknown>[];
        } finally {
          database.close();
        }
      },
      server: () => {
        throw new Error("SQLite has no server");
      },
    });
  });
}

function describePostgres(name: string, tests: (place: Place) => void): void {
  const found = findPostgres();
  if ("missing" in found) it.skip(`${name}, Postgres: ${found.missing}`, () => undefined);
  else
    describe(`${name}, Postgres`, () => {
      let server: PostgresServer;
      beforeAll(async () => {
        server = await startPostgres(found.programs);
      }, 60_000);
      afterAll(() => server.remove());
      tests({
        kind: "postgres",
        ...opening(() => server.newDatabase()),
        query: (location, sql) => ask(location, sql.replace(/\{(\w+)\}/g, "espalier.$1")),
        server: () => server,
      });
    });
}

function opening(location: () => Promise<string>): Pick<Place, "location" | "open"> {
  const opened: StatsStore[] = [];
  afterEach(async () => {
    for (const store of opened.splice(0)) await store.close();
  });
  return {
    location,
    async open(given, clock) {
      const store = await openStatsStore(given ?? (await location()), clock && { clock });
      opened.push(store);
      return store;
    },
  };
}

export const aRun = (id: string, more: Partial<RunInfo> = {}): RunInfo => ({
  id,
  name: `the run ${id}`,
  startedAt: 1000,
  config: { rate: 0.1 },
  ...more,
});

/** A record of the mean of `loss` in the category `train` at a step, unless told otherwise. */
export function aRecord(
  step: number,
  value: MetricRecord["value"],
  more: Partial<MetricRecord> = {},
): MetricRecord {
  const { category = "train", name = "loss" } = more;
  return {
    ...{ category, name, step, value, key: `${category}/${name}` },
    unit: undefined,
    axis: "steps",
    counters: { ...noCounters, steps: step },
    wall: 1_700_000_000_000 + step,
    reduction: "mean",
    count: 100,
    notFinite: 0,
    ...more,
  };
}
