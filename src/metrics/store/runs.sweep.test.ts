import { describe, expect, it } from "vitest";
import { manualClock } from "../../core/index.ts";
import { noCounters } from "../../schedule/index.ts";
import { aRecord, aRun, sweepStores } from "./stores.test-support.ts";

const at = (steps: number, more: Readonly<Record<string, number>> = {}) => ({
  ...noCounters,
  ...more,
  steps,
});

sweepStores("a stats store", ({ location, open }) => {
  describe("runs", () => {
    it("are filed with all that is known of them", async () => {
      const store = await open(undefined, manualClock(5000));
      await store.startRun(
        aRun("a", { name: "first", config: { rate: 0.1, layers: [1, { wide: true }], none: null } }),
      );
      expect(await store.run("a")).toEqual({
        ...{
          id: "a",
          name: "first",
          startedAt: 1000,
          endedAt: undefined,
          outcome: "running",
          reason: undefined,
        },
        ...{ config: { rate: 0.1, layers: [1, { wide: true }], none: null }, resumes: 0, counters: {} },
        ...{ heartbeat: undefined, limits: {}, tags: [], archived: false },
      });
      await store.endRun("a", { outcome: "failed", reason: "the loss is NaN", counters: at(7) });
      expect(await store.run("a")).toMatchObject({
        ...{ outcome: "failed", reason: "the loss is NaN", endedAt: 5000, counters: at(7) },
      });
    });

    it("are listed newest first", async () => {
      const store = await open();
      await store.startRun(aRun("old", { startedAt: 1 }));
      await store.startRun(aRun("new", { startedAt: 3 }));
      await store.startRun(aRun("middle", { startedAt: 2 }));
      expect((await store.runs()).map(({ id }) => id)).toEqual(["new", "middle", "old"]);
      expect((await store.runs({ limit: 1 })).map(({ id }) => id)).toEqual(["new"]);
    });

    it("are found by id, by name and by how the id begins", async () => {
      const store = await open();
      await store.startRun(aRun("mnist-1", { name: "mnist", startedAt: 1 }));
      await store.startRun(aRun("mnist-2", { name: "mnist", startedAt: 2 }));
      await store.startRun(aRun("cifar-1", { name: "mnist-1", startedAt: 3 }));
      expect((await store.run("mnist-1")).id).toBe("mnist-1");
      expect((await store.run("mnist")).id).toBe("mnist-2");
      expect((await store.run("ci")).id).toBe("cifar-1");
      await expect(store.run("mnist-")).rejects.toMatchObject({
        code: "STATS_AMBIGUOUS_RUN",
        message: expect.stringContaining("mnist-2, mnist-1"),
      });
      await expect(store.run("mnits")).rejects.toMatchObject({
        code: "STATS_UNKNOWN_RUN",
        message: expect.stringContaining('did you mean "mnist"?'),
      });
      await expect(store.run("")).rejects.toMatchObject({ code: "STATS_UNKNOWN_RUN" });
    });

    it("that are not there are an error in every function", async () => {
      const store = await open();
      await store.startRun(aRun("abc"));
      const unknown = { code: "STATS_UNKNOWN_RUN", message: expect.stringContaining('"abx"') };
      await expect(store.endRun("abx", { outcome: "completed", counters: at(1) })).rejects.toMatchObject(
        unknown,
      );
      await expect(store.addMetrics("abx", [aRecord(1, 1)])).rejects.toMatchObject(unknown);
      await expect(store.add("abx", "episode", [])).rejects.toMatchObject(unknown);
      await expect(store.setHookTimings("abx", [])).rejects.toMatchObject(unknown);
      await expect(store.metrics("abx")).rejects.toMatchObject(unknown);
      await expect(store.series("abx", "train/loss")).rejects.toMatchObject(unknown);
      await expect(store.latest("abx")).rejects.toMatchObject(unknown);
      await expect(store.since("abx", 0)).rejects.toMatchObject(unknown);
      await expect(store.list("abx", "decision")).rejects.toMatchObject(unknown);
      await expect(store.hookTimings("abx")).rejects.toMatchObject(unknown);
    });

    it("hold texts that databases do not take", async () => {
      const store = await open();
      const odd = "a\0b \uD800 <b>'; drop table runs; -- \u{1F600}";
      await store.startRun(aRun("a", { name: odd, config: { [odd]: odd } }));
      expect(await store.run("a")).toMatchObject({
        name: "a\uFFFDb \uFFFD <b>'; drop table runs; -- \u{1F600}",
        config: { [odd]: odd },
      });
    });
  });

  describe("a resumed run", () => {
    it("loses what comes again, each on its axis, and nothing else", async () => {
      const store = await open(undefined, manualClock(9000));
      await store.startRun(aRun("a"));
      await store.startRun(aRun("other"));
      const file = (id: string) =>
        Promise.all([
          store.addMetrics(
            id,
            Array.from({ length: 900 }, (_, index) => aRecord(index + 1, index)),
          ),
          store.addMetrics(
            id,
            [1, 2, 3].map((epoch) => aRecord(epoch, epoch, { name: "accuracy", axis: "epochs" })),
          ),
          store.addMetrics(id, [
            aRecord(700, 1, { name: "late" }),
            aRecord(5, 1, { name: "odd", axis: "unknown" }),
          ]),
        ]);
      await file("a");
      await file("other");
      await store.addMetrics("a", [aRecord(901, 1)]);
      const event = { step: 600, wall: 1, path: "p", uri: undefined };
      await store.add("a", "checkpoint", [event, { ...event, step: 400 }]);
      await store.add("a", "episode", [{ step: 400.5, wall: 1, return: 1, length: 1 }]);
      await store.add("a", "intervention", [{ step: 800, wall: 1, who: "monitor", what: "halt" }]);
      const { next } = await store.since("a", 0);
      await store.endRun("a", { outcome: "interrupted", reason: "a signal", counters: at(901) });

      const resumed = aRun("a", {
        startedAt: 2000,
        resumedAt: at(400, { epochs: 2 }),
        config: { rate: 0.2 },
      });
      await store.startRun(resumed);
      expect(await store.run("a")).toMatchObject({
        ...{ startedAt: 1000, endedAt: undefined, outcome: "running", reason: undefined, resumes: 1 },
        ...{ config: { rate: 0.2 }, counters: at(400, { epochs: 2 }) },
      });
      expect(await store.metrics("a")).toEqual([
        { key: "train/accuracy", points: 2 },
        { key: "train/loss", points: 400 },
        { key: "train/odd", points: 1 },
      ]);
      expect((await store.latest("a")).find(({ key }) => key === "train/loss")).toMatchObject({
        step: 400,
        value: 399,
      });
      expect(await store.list("a", "checkpoint")).toEqual([{ ...event, step: 400 }]);
      expect(await store.list("a", "episode")).toEqual([]);
      expect(await store.list("a", "intervention")).toHaveLength(1);
      expect((await store.metrics("other")).map(({ points }) => points)).toEqual([3, 1, 900, 1]);

      // What comes again is filed, seen by those who follow, and not lost when the same call is made again.
      await store.addMetrics("a", [aRecord(401, 7, { wall: 2e12 })]);
      await store.startRun(resumed);
      expect((await store.since("a", next)).rows).toMatchObject([{ step: 401, value: 7 }]);
      expect(await store.run("a")).toMatchObject({ resumes: 1, counters: at(401) });
    });

    it("loses metrics of the window that was open, and events only after the point", async () => {
      const store = await open();
      await store.startRun(aRun("a"));
      await store.addMetrics("a", [aRecord(300, 1), aRecord(350, 1), aRecord(400, 1)]);
      const episode = { return: 1, length: 1, wall: 1 };
      await store.add("a", "episode", [
        { ...episode, step: 320 },
        { ...episode, step: 360 },
      ]);
      await store.startRun(aRun("a", { startedAt: 2, resumedAt: at(350), filedUpTo: at(300) }));
      expect((await store.series("a", "train/loss")).map(({ step }) => step)).toEqual([300]);
      expect((await store.list("a", "episode")).map(({ step }) => step)).toEqual([320]);
    });

    it("that the store does not know is filed", async () => {
      const store = await open();
      await store.startRun(aRun("a", { resumedAt: at(5) }));
      expect(await store.run("a")).toMatchObject({ resumes: 1, counters: at(5) });
    });

    it("that begins anew without having ended loses all; one that has ended is not lost", async () => {
      const store = await open();
      await store.startRun(aRun("a"));
      await store.addMetrics("a", [aRecord(0, 1), aRecord(1, 1)]);
      await store.startRun(aRun("a", { startedAt: 2000 }));
      expect(await store.metrics("a")).toEqual([]);
      await store.addMetrics("a", [aRecord(1, 1)]);
      await store.endRun("a", { outcome: "completed", counters: at(1) });
      await expect(store.startRun(aRun("a", { startedAt: 3000 }))).rejects.toMatchObject({
        code: "STATS_RUN_EXISTS",
      });
      expect(await store.run("a")).toMatchObject({ outcome: "completed", resumes: 0 });
    });

    it("that continues from its beginning is filed again in place of what ended", async () => {
      const store = await open();
      await store.startRun(aRun("a"));
      await store.addMetrics("a", [aRecord(0, 1), aRecord(1, 1)]);
      await store.endRun("a", { outcome: "interrupted", reason: "SIGINT", counters: at(1) });
      await store.startRun(aRun("a", { startedAt: 3000, continues: true }));
      expect(await store.metrics("a")).toEqual([]);
      expect(await store.run("a")).toMatchObject({ outcome: "running", reason: undefined, counters: {} });
    });
  });

  it("a closed store says so", async () => {
    const store = await open();
    await store.startRun(aRun("a"));
    await store.close();
    await store.close();
    await expect(store.runs()).rejects.toMatchObject({ code: "STATS_CLOSED" });
    await expect(store.addMetrics("a", [aRecord(1, 1)])).rejects.toMatchObject({ code: "STATS_CLOSED" });
  });

  it("what is filed is there when the store is opened again", async () => {
    const where = await location();
    const first = await open(where);
    await first.startRun(aRun("a"));
    await first.addMetrics("a", [aRecord(1, 0.1)]);
    await first.close();
    const again = await open(where);
    await again.addMetrics("a", [aRecord(1, 0.1), aRecord(2, 0.2)]);
    expect((await again.series("a", "train/loss")).map(({ value }) => value)).toEqual([0.1, 0.2]);
  });
});
