import { describe, expect, it } from "vitest";
import { systemClock } from "../../core/index.ts";
import { checkSink } from "../../testing/index.ts";
import type { StatsStore } from "../store/stats-store.ts";
import { aRecord, aRun, sweepStores } from "../store/stores.test-support.ts";
import { Delivery } from "./delivery/delivery.ts";
import { statsStoreSink } from "./stats-store.ts";

const ending = { outcome: "completed", counters: aRecord(9, 0).counters } as const;

sweepStores("the sink of a stats store", ({ kind, location, open, server }) => {
  describe("does what all sinks do", () => {
    const locations = new Map<string, Promise<string>>();
    const at = (place: string): Promise<string> => {
      const known = locations.get(place) ?? location();
      locations.set(place, known);
      return known;
    };
    const broken = new Map<string, string>();
    /** A store whose calls are done, but whose answers are lost where they are to be. */
    const losing = async (place: string): Promise<StatsStore> => {
      const store = await open(await at(place));
      const answer = (call: string): undefined => {
        if (broken.get(place) !== call) return undefined;
        broken.delete(place);
        throw new Error("the connection broke");
      };
      return {
        ...store,
        startRun: (run) => store.startRun(run).then(() => answer("open")),
        addMetrics: (run, records) => {
          const filing = store.addMetrics(run, records);
          return filing ? filing.then(() => answer("write")) : answer("write");
        },
      };
    };
    const cases = checkSink(async (place) => statsStoreSink(await losing(place)), {
      keeps: { texts: true, histograms: true },
      breakNext: (place, call) => void broken.set(place, call),
      async readBack(place) {
        const store = await open(await at(place));
        const { rows } = await store.since(place, 0);
        return rows.map(({ key, step, value, text, histogram }) => ({
          key,
          step,
          value: value ?? text ?? histogram ?? "nothing",
        }));
      },
    });
    it.each(cases.map(({ name, run }) => [name, run] as const))("%s", async (_, run) => run());
  });

  it("takes its name and its choice, and leaves the store open", async () => {
    const store = await open();
    expect(statsStoreSink(store).name).toBe("stats-store");
    const sink = statsStoreSink(store, { name: "mine", categories: ["train"] });
    expect(sink).toMatchObject({ name: "mine", categories: ["train"] });
    await sink.open?.(aRun("a"));
    await sink.write([aRecord(1, 0.5)]);
    await sink.close?.(ending);
    expect(await store.run("a")).toMatchObject({ outcome: "completed", counters: ending.counters });
    expect(await store.metrics("a")).toEqual([{ key: "train/loss", points: 1 }]);
  });

  it("says that it is of no use for a run that is filed already", async () => {
    const store = await open();
    await store.startRun(aRun("a"));
    await store.endRun("a", ending);
    const sink = statsStoreSink(store);
    await expect(sink.open?.(aRun("a", { startedAt: 2000 }))).rejects.toMatchObject({
      code: "SINK_UNUSABLE",
      cause: { code: "STATS_RUN_EXISTS" },
    });
  });

  it("says that it is of no use once the store is closed", async () => {
    const store = await open();
    const sink = statsStoreSink(store);
    await sink.open?.(aRun("a"));
    await store.close();
    for (const call of [
      () => sink.open?.(aRun("a")),
      () => sink.write([aRecord(1, 0)]),
      () => sink.close?.(ending),
    ])
      await expect(call()).rejects.toMatchObject({ code: "SINK_UNUSABLE", cause: { code: "STATS_CLOSED" } });
  });

  if (kind === "sqlite")
    it("files at once, so that nothing waits", async () => {
      const store = await open();
      const sink = statsStoreSink(store);
      await sink.open?.(aRun("a"));
      expect(sink.write([aRecord(1, 0.5)])).toBeUndefined();
    });

  if (kind !== "postgres") return;

  it("says that the server is away, and goes on when it is back", async () => {
    const store = await open();
    const sink = statsStoreSink(store);
    await sink.open?.(aRun("a"));
    await sink.write([aRecord(1, 0.1)]);
    // Calls under way when the server crashes, and connections that nobody uses then.
    const underWay = Promise.allSettled(
      Array.from({ length: 20 }, (_, index) => store.addMetrics("a", [aRecord(100 + index, index)])),
    );
    await server().stop(true);
    const away = { code: "STATS_UNAVAILABLE", message: expect.not.stringContaining("s3cret") };
    for (const answer of await underWay)
      if (answer.status === "rejected") expect(answer.reason).toMatchObject(away);
    const window = [aRecord(2, 0.2), aRecord(3, 0.3)];
    await expect(sink.write(window)).rejects.toMatchObject(away);
    await expect(store.runs()).rejects.toMatchObject(away);
    await expect(
      store.add("a", "episode", [{ step: 1, return: 1, length: 1, wall: 1 }]),
    ).rejects.toMatchObject(away);
    await server().start();
    await sink.write(window);
    await sink.write(window);
    const rows = await store.series("a", "train/loss", { to: 99 });
    expect(rows.map(({ value }) => value)).toEqual([0.1, 0.2, 0.3]);
  });

  it("loses nothing and doubles nothing behind a delivery", async () => {
    const store = await open();
    const told: string[] = [];
    const delivery = new Delivery(statsStoreSink(store), {
      clock: systemClock,
      warn: (text) => told.push(text),
      limits: { retry: [5, 50], closing: 60_000 },
    });
    delivery.open(aRun("a"));
    const windows = Array.from({ length: 60 }, (_, window) =>
      Array.from({ length: 10 }, (_, metric) => aRecord(window + 1, window + metric, { name: `m${metric}` })),
    );
    for (const [index, records] of windows.entries()) {
      delivery.send(records);
      if (index === 20) await server().stop(true);
      if (index === 40) await server().start();
      await new Promise((resolve) => setImmediate(resolve));
    }
    await delivery.close(ending);
    expect(delivery.summary()).toMatchObject({ lost: 0 });
    expect(told.join("\n")).toMatch(/works again/);
    const { rows } = await store.since("a", 0);
    expect(rows.map(({ key, step, value }) => [key, step, value])).toEqual(
      windows.flat().map(({ key, step, value }) => [key, step, value]),
    );
    expect(await store.run("a")).toMatchObject({ outcome: "completed" });
  });
});
