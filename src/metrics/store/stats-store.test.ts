import { describe, expect, it } from "vitest";
import { manualClock } from "../../core/index.ts";
import { noCounters } from "../../schedule/index.ts";
import type { Histogram } from "../record.ts";
import { aRecord, aRun, describeStores } from "./stores.test-support.ts";

const at = (steps: number, more: Readonly<Record<string, number>> = {}) => ({ ...noCounters, ...more, steps });

describeStores("a stats store", ({ kind, location, open, query }) => {
  describe("runs", () => {
    it("are filed with all that is known of them", async () => {
      const store = await open(undefined, manualClock(5000));
      await store.startRun(aRun("a", { name: "first", config: { rate: 0.1, layers: [1, { wide: true }], none: null } }));
      expect(await store.run("a")).toEqual({
        ...{ id: "a", name: "first", startedAt: 1000, endedAt: undefined, outcome: "running", reason: undefined },
        ...{ config: { rate: 0.1, layers: [1, { wide: true }], none: null }, resumes: 0, counters: {} },
        heartbeat: undefined,
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
      await expect(store.endRun("abx", { outcome: "completed", counters: at(1) })).rejects.toMatchObject(unknown);
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

  describe("metrics", () => {
    const numbers = [0.1, -1.5, 1e-17, 5e-324, 2.2e-16, 1.7976931348623157e308, 2 ** 53, 3, 0, -0, NaN, Infinity, -Infinity];

    it("keep every number exactly, and what it is a number of", async () => {
      const store = await open();
      await store.startRun(aRun("a"));
      const records = numbers.map((value, index) =>
        aRecord(index + 0.5, value, { unit: "nats", count: index + 1, notFinite: Number.isFinite(value) ? 0 : 1 }),
      );
      await store.addMetrics("a", records);
      const rows = await store.series("a", "train/loss");
      expect(rows.map(({ value }) => value)).toEqual(numbers);
      expect(rows[2]).toEqual({
        ...{ key: "train/loss", category: "train", name: "loss", unit: "nats", axis: "steps" },
        ...{ step: 2.5, wall: 1_700_000_000_002.5, value: 1e-17, text: undefined, histogram: undefined },
        ...{ reduction: "mean", count: 3, notFinite: 0 },
      });
    });

    it("may be texts and histograms", async () => {
      const store = await open();
      await store.startRun(aRun("a"));
      const histogram: Histogram = {
        ...{ edges: [-Infinity, 0, 0.1, Infinity], counts: [1, 2, 3], min: -2, max: NaN },
        ...{ sum: 1e-17, sumSquares: 3, count: 6 },
      };
      const long = "x\0'".repeat(5000);
      await store.addMetrics("a", [
        aRecord(1, long, { name: "note", reduction: "last" }),
        aRecord(1, "other", { name: "note", reduction: "last" }),
        aRecord(2, histogram, { name: "weights", reduction: "histogram" }),
      ]);
      const notes = await store.series("a", "train/note");
      expect(notes.map(({ text }) => text)).toEqual([long, "other"]);
      expect(notes[0]).toMatchObject({ value: undefined, histogram: undefined });
      expect(await store.series("a", "train/weights")).toMatchObject([{ histogram, value: undefined }]);
    });

    it("come by step, then as they came; those of other runs and categories do not", async () => {
      const store = await open();
      for (const id of ["a", "b"]) await store.startRun(aRun(id));
      await store.addMetrics("a", [aRecord(10, 1), aRecord(20, 2)]);
      await store.addMetrics("b", [aRecord(15, 99)]);
      await store.addMetrics("a", [aRecord(10, 3, { wall: 5 }), aRecord(5, 4), aRecord(5, 98, { category: "validation" })]);
      expect((await store.series("a", "train/loss")).map(({ step, value }) => [step, value])).toEqual([
        [5, 4],
        [10, 1],
        [10, 3],
        [20, 2],
      ]);
      expect((await store.series("a", "train/loss", { from: 10, to: 15 })).map(({ value }) => value)).toEqual([1, 3]);
      expect(await store.series("a", "train/none")).toEqual([]);
      expect(await store.metrics("a")).toEqual([
        { key: "train/loss", points: 4 },
        { key: "validation/loss", points: 1 },
      ]);
    });

    it("are filed once, however often and with whatever others they come", async () => {
      const store = await open();
      await store.startRun(aRun("a"));
      const records = [NaN, "text", -0, 0.5].map((value, step) => aRecord(step, value));
      await store.addMetrics("a", records);
      await store.addMetrics("a", records);
      await store.addMetrics("a", [...records.slice(2), aRecord(9, 9)]);
      // As they come back from a file of JSON lines: with one zero.
      await store.addMetrics("a", [aRecord(2, 0)]);
      expect(await store.metrics("a")).toEqual([{ key: "train/loss", points: 5 }]);
    });

    it("are filed once even where many have come between", async () => {
      const store = await open();
      await store.startRun(aRun("a"));
      const windows = Array.from({ length: 60 }, (_, step) =>
        Array.from({ length: 50 }, (_, metric) => aRecord(step, metric, { name: `m${metric}` })),
      );
      for (const records of windows) await store.addMetrics("a", records);
      await store.addMetrics("a", windows.slice(0, 3).flat());
      expect(await store.metrics("a")).toHaveLength(50);
      for (const { points } of await store.metrics("a")) expect(points).toBe(60);
    });

    it("that differ in one thing are different, late ones of one step among them", async () => {
      const store = await open();
      await store.startRun(aRun("a"));
      const one = aRecord(5, 0.25);
      const records = [one, { ...one, value: 0.5 }, { ...one, wall: 7 }, { ...one, count: 7 }, { ...one, notFinite: 1 }];
      for (const record of records) await store.addMetrics("a", [record]);
      await store.addMetrics("a", [{ ...one, unit: "nats" }]);
      expect(await store.metrics("a")).toEqual([{ key: "train/loss", points: 6 }]);
      expect((await store.series("a", "train/loss")).at(-1)).toMatchObject({ unit: "nats", value: 0.25 });
    });

    it("have their newest: the furthest, not the last that came", async () => {
      const store = await open();
      await store.startRun(aRun("a"));
      for (let step = 1; step <= 1200; step++)
        await store.addMetrics("a", [aRecord(step, step), ...(step === 3 ? [aRecord(3, 33, { name: "seldom" })] : [])]);
      await store.addMetrics("a", [aRecord(7, 7, { wall: 1 }), aRecord(1200, 0.5, { wall: 2 })]);
      expect((await store.latest("a")).map(({ key, step, value }) => [key, step, value])).toEqual([
        ["train/loss", 1200, 0.5],
        ["train/seldom", 3, 33],
      ]);
      expect((await store.run("a")).counters).toEqual(at(1200));
    });

    it("are followed from any place, in the order in which they came", async () => {
      const store = await open();
      await store.startRun(aRun("a"));
      await store.startRun(aRun("b"));
      expect(await store.since("a", 0)).toEqual({ rows: [], next: 0 });
      const steps = (rows: readonly { readonly step: number }[]) => rows.map(({ step }) => step);
      for (let step = 1; step <= 1300; step += 2) {
        await store.addMetrics("a", [aRecord(step + 1, 1, { name: "b" }), aRecord(step, 1, { name: "a" })]);
        await store.addMetrics("b", [aRecord(step, 1)]);
      }
      const all = await store.since("a", 0);
      expect(steps(all.rows).slice(0, 4)).toEqual([2, 1, 4, 3]);
      expect(all.rows).toHaveLength(1300);
      expect(await store.since("a", all.next)).toEqual({ rows: [], next: all.next });

      const seen: number[] = [];
      for (let place = 0; ; ) {
        const { rows, next } = await store.since("a", place, 97);
        if (rows.length === 0) break;
        seen.push(...steps(rows));
        place = next;
      }
      expect(seen).toEqual(steps(all.rows));
      await store.addMetrics("a", [aRecord(5000, 1, { name: "new" })]);
      expect(steps((await store.since("a", all.next)).rows)).toEqual([5000]);
    });

    it("are thinned evenly, with the first, the last, the lowest and the highest", async () => {
      const store = await open();
      await store.startRun(aRun("a"));
      const values = Array.from({ length: 1001 }, (_, step) => (step === 333 ? 1e6 : step === 667 ? -1e6 : step % 7));
      await store.addMetrics(
        "a",
        values.map((value, step) => aRecord(step, step === 500 ? NaN : value)),
      );
      const steps = async (points: number) =>
        (await store.series("a", "train/loss", { points })).map(({ step }) => step);
      expect(await steps(1)).toEqual([1000]);
      expect(await steps(2)).toEqual([0, 1000]);
      expect(await steps(3)).toEqual([0, 500, 1000]);
      expect(await steps(13)).toEqual([0, 100, 200, 300, 333, 400, 500, 600, 667, 700, 800, 900, 1000]);
      expect(await steps(1001)).toHaveLength(1001);
      expect(await steps(5000)).toHaveLength(1001);
      expect((await steps(1000)).length).toBeLessThanOrEqual(1000);
      expect(
        (await store.series("a", "train/loss", { points: 3, from: 10, to: 20 })).map(({ step }) => step),
      ).toEqual([10, 15, 20]);
      await expect(store.series("a", "train/loss", { points: 0 })).rejects.toMatchObject({
        code: "STATS_CHOICE_INVALID",
      });
    });

    it("may be many and new in one call", async () => {
      const store = await open();
      await store.startRun(aRun("a"));
      const records = Array.from({ length: 1000 }, (_, index) => aRecord(1, index, { name: `n/${index} <b>'` }));
      await store.addMetrics("a", records);
      expect(await store.metrics("a")).toHaveLength(1000);
      expect((await store.series("a", "train/n/999 <b>'"))[0]).toMatchObject({ name: "n/999 <b>'", value: 999 });
      await store.addMetrics("a", []);
    });

    it("are there for a database client, in a view", async () => {
      const where = await location();
      const store = await open(where);
      await store.startRun(aRun("a"));
      await store.addMetrics("a", [aRecord(1, 0.5), aRecord(2, NaN), aRecord(3, "x")]);
      const rows = await query(where, "select run, key, step, value, body from {metric_values} order by step");
      expect(rows.map((row) => ({ ...row }))).toEqual([
        { run: "a", key: "train/loss", step: 1, value: 0.5, body: null },
        { run: "a", key: "train/loss", step: 2, value: kind === "sqlite" ? "NaN" : NaN, body: null },
        { run: "a", key: "train/loss", step: 3, value: null, body: '"x"' },
      ]);
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
          store.addMetrics(id, [1, 2, 3].map((epoch) => aRecord(epoch, epoch, { name: "accuracy", axis: "epochs" }))),
          store.addMetrics(id, [aRecord(700, 1, { name: "late" }), aRecord(5, 1, { name: "odd", axis: "unknown" })]),
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

      const resumed = aRun("a", { startedAt: 2000, resumedAt: at(400, { epochs: 2 }), config: { rate: 0.2 } });
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
      expect((await store.latest("a")).find(({ key }) => key === "train/loss")).toMatchObject({ step: 400, value: 399 });
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
