import { expect, it } from "vitest";
import { noCounters } from "../../schedule/index.ts";
import type { Histogram } from "../record.ts";
import { aRecord, aRun, sweepStores } from "./stores.test-support.ts";

sweepStores("metrics", ({ kind, location, open, query }) => {
  const numbers = [
    0.1,
    -1.5,
    1e-17,
    5e-324,
    2.2e-16,
    1.7976931348623157e308,
    2 ** 53,
    3,
    0,
    -0,
    NaN,
    Infinity,
    -Infinity,
  ];

  it("keep every number exactly, and what it is a number of", async () => {
    const store = await open();
    await store.startRun(aRun("a"));
    const records = numbers.map((value, index) =>
      aRecord(index + 0.5, value, {
        unit: "nats",
        count: index + 1,
        notFinite: Number.isFinite(value) ? 0 : 1,
      }),
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
    await store.addMetrics("a", [
      aRecord(10, 3, { wall: 5 }),
      aRecord(5, 4),
      aRecord(5, 98, { category: "validation" }),
    ]);
    expect((await store.series("a", "train/loss")).map(({ step, value }) => [step, value])).toEqual([
      [5, 4],
      [10, 1],
      [10, 3],
      [20, 2],
    ]);
    expect((await store.series("a", "train/loss", { from: 10, to: 15 })).map(({ value }) => value)).toEqual([
      1, 3,
    ]);
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
    const records = [
      one,
      { ...one, value: 0.5 },
      { ...one, wall: 7 },
      { ...one, count: 7 },
      { ...one, notFinite: 1 },
    ];
    for (const record of records) await store.addMetrics("a", [record]);
    await store.addMetrics("a", [{ ...one, unit: "nats" }]);
    expect(await store.metrics("a")).toEqual([{ key: "train/loss", points: 6 }]);
    expect((await store.series("a", "train/loss")).at(-1)).toMatchObject({ unit: "nats", value: 0.25 });
  });

  it("have their newest: the furthest, not the last that came", async () => {
    const store = await open();
    await store.startRun(aRun("a"));
    for (let step = 1; step <= 1200; step++)
      await store.addMetrics("a", [
        aRecord(step, step),
        ...(step === 3 ? [aRecord(3, 33, { name: "seldom" })] : []),
      ]);
    await store.addMetrics("a", [aRecord(7, 7, { wall: 1 }), aRecord(1200, 0.5, { wall: 2 })]);
    expect((await store.latest("a")).map(({ key, step, value }) => [key, step, value])).toEqual([
      ["train/loss", 1200, 0.5],
      ["train/seldom", 3, 33],
    ]);
    expect((await store.run("a")).counters).toEqual({ ...noCounters, steps: 1200 });
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
    const values = Array.from({ length: 1001 }, (_, step) =>
      step === 333 ? 1e6 : step === 667 ? -1e6 : step % 7,
    );
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
    const records = Array.from({ length: 1000 }, (_, index) =>
      aRecord(1, index, { name: `n/${index} <b>'` }),
    );
    await store.addMetrics("a", records);
    expect(await store.metrics("a")).toHaveLength(1000);
    expect((await store.series("a", "train/n/999 <b>'"))[0]).toMatchObject({
      name: "n/999 <b>'",
      value: 999,
    });
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
