import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { type MetricRecord, openStatsStore, statsStoreSink } from "../index.ts";
import { ask, findPostgres, type PostgresServer, startPostgres } from "../store/postgres.test-support.ts";
import { newFolder, schedule, shared, type Trained, trained } from "./run.test-support.ts";

const found = findPostgres();
describe("Postgres", () => {
  if ("missing" in found) {
    it.skip(found.missing, () => undefined);
    return;
  }
  let server: PostgresServer;
  let quiet: Trained;
  let healthy: Trained;
  beforeAll(async () => {
    server = await startPostgres(found.programs);
    quiet = await trained({ silent: true });
    healthy = await trained();
  });
  afterAll(() => server.remove());

  it.each(["with a place to wait on disk", "in memory only"])(
    "crashes in the middle of a run and comes back: every value is there once, %s",
    async (how) => {
      const url = await server.newDatabase();
      // One through the hook, which files more than metrics, and one with many small windows.
      const [store, often] = [await openStatsStore(url), await openStatsStore(await server.newDatabase())];
      const hundreds: MetricRecord[] = [];
      const run = await trained({
        statsStore: store,
        sinks: [
          statsStoreSink(often, { name: "often", schedule }),
          { name: "hundreds", write: (records) => void hundreds.push(...records) },
        ],
        ...(how.startsWith("with") && { spill: newFolder() }),
        // Real calls take their time: none is given up here.
        delivery: { deadline: 30, closing: 30 },
        after: {
          100: () => server.stop(true),
          200: async (logger) => {
            await vi.waitFor(
              () => {
                for (const { name, failures } of logger.summary().sinks)
                  expect(failures > 3).toBe(name === "stats-store" || name === "often");
              },
              { timeout: 20_000 },
            );
            await server.start();
          },
        },
      });
      expect(run.outcome).toBe("completed");
      expect(run.numbers).toEqual(quiet.numbers);
      expect(run.kept.map(shared)).toEqual(healthy.kept.map(shared));
      for (const name of ["stats-store", "often"]) {
        expect(run.state(name)).toMatchObject({ waiting: 0, spilled: 0, lost: 0 });
        const said = run.said.filter((text) => text.startsWith(`sink "${name}" `));
        expect(said).toEqual([
          expect.stringMatching(/ fails: .*cannot be reached.*Training goes on/),
          expect.stringMatching(/ works again/),
        ]);
      }
      expect((await often.since("faulty", 0)).rows.map(shared)).toEqual(healthy.kept.map(shared));
      expect((await store.since("faulty", 0)).rows.map(shared)).toEqual(hundreds.map(shared));
      expect(hundreds.length).toBeGreaterThan(3);
      // Past the store: nothing is there that it does not show.
      const [count] = await ask(url, "select count(*)::int as rows from espalier.metrics");
      expect(count).toEqual({ rows: hundreds.length });
      expect(await store.run("faulty")).toMatchObject({ outcome: "completed" });
      expect((await store.hookTimings("faulty")).map(({ hook }) => hook)).toContain("metrics");
      await Promise.all([store.close(), often.close()]);
    },
    60_000,
  );
});
