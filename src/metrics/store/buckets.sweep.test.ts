import { describe, expect, it } from "vitest";
import { noCounters } from "../../schedule/index.ts";
import type { MetricRecord } from "../record.ts";
import type { Bucket, StatsStore } from "./stats-store.ts";
import { aRecord, aRun, sweepStores } from "./stores.test-support.ts";

const at = (steps: number) => ({ ...noCounters, steps });

/** What a metric's value is at a step: most are finite. */
function valueAt(step: number, metric: number): number {
  if (step % 1000 === 999) return Number.NaN;
  if (step % 1000 === 500) return step % 2000 === 500 ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY;
  return Math.sin(step / 300 + metric) * 10;
}

/** What every run here has: a value of `once/only` at step 3, then so many of each of eight metrics. */
const counts = (points: number) => [
  { key: "once/only", points: 1 },
  ...names.map((name) => ({ key: `train/${name}`, points })),
];
const names = Array.from({ length: 8 }, (_, i) => `m${i}`);

/** Records of eight metrics from one step to another, window by window. */
const windows = (from: number, to: number): readonly MetricRecord[] =>
  Array.from({ length: to - from + 1 }, (_, i) => from + i).flatMap((step) =>
    names.map((name, metric) => aRecord(step, valueAt(step, metric), { name })),
  );

/** Enough rows for summaries, and some more. */
async function fillRun(store: StatsStore, id: string, steps: number): Promise<void> {
  await store.startRun(aRun(id));
  await store.addMetrics(id, [aRecord(3, 0.5, { category: "once", name: "only" })]);
  for (let step = 1; step <= steps; step += 60)
    await store.addMetrics(id, windows(step, Math.min(steps, step + 59)));
}

/** The same by hand: buckets of equal width over the steps from `low` to `high`. */
function expected(metric: number, low: number, high: number, points: number): readonly Bucket[] {
  const width = (high - low) / points || 1;
  const groups = new Map<number, { steps: number[]; values: number[] }>();
  for (let step = low; step <= high; step++) {
    const nth = Math.min(points - 1, Math.floor((step - low) / width));
    const group = groups.get(nth) ?? { steps: [], values: [] };
    groups.set(nth, group);
    group.steps.push(step);
    group.values.push(valueAt(step, metric));
  }
  return [...groups.values()].map(({ steps, values }) => {
    const finite = values.filter(Number.isFinite);
    const none = finite.length === 0;
    return {
      x: Math.max(...steps),
      min: none ? null : Math.min(...finite),
      max: none ? null : Math.max(...finite),
      mean: none ? null : expect.closeTo(finite.reduce((a, b) => a + b, 0) / finite.length, 9),
      count: values.length,
      notFinite: values.length - finite.length,
    };
  });
}

const total = (buckets: readonly Bucket[], of: "count" | "notFinite"): number =>
  buckets.reduce((sum, bucket) => sum + bucket[of], 0);

sweepStores("a stats store", ({ open, location, query }) => {
  describe("buckets", () => {
    it("hold least, greatest and mean of finite values, and count the others", async () => {
      const store = await open();
      await fillRun(store, "a", 2000);
      const read = (choice: Parameters<StatsStore["buckets"]>[2]) => store.buckets("a", "train/m3", choice);
      expect(await read({ points: 50 })).toEqual(expected(3, 1, 2000, 50));
      expect(await read({ points: 7 })).toEqual(expected(3, 1, 2000, 7));
      expect(await read({ points: 1 })).toEqual(expected(3, 1, 2000, 1));
      // More than there are values: each is alone.
      expect(await read({ points: 10_000 })).toEqual(expected(3, 1, 2000, 10_000));
      expect(await read({ points: 20, from: 400, to: 600 })).toEqual(expected(3, 400, 600, 20));
      expect(await read({ points: 20, from: 999, to: 999 })).toEqual(expected(3, 999, 999, 20));
      expect(await read({ points: 20, from: 5000 })).toEqual([]);
      const time = await read({ points: 20, axis: "time", from: 1_700_000_000_400, to: 1_700_000_000_600 });
      expect(time.map(({ x, ...rest }) => ({ x: x - 1_700_000_000_000, ...rest }))).toEqual(
        expected(3, 400, 600, 20),
      );
      expect(await store.buckets("a", "train/none", { points: 5 })).toEqual([]);
      await expect(read({ points: 0 })).rejects.toMatchObject({ code: "STATS_CHOICE_INVALID" });
      await expect(read({ points: 1e6 })).rejects.toMatchObject({ code: "STATS_CHOICE_INVALID" });
      await expect(store.buckets("b", "train/m3", { points: 5 })).rejects.toMatchObject({
        code: "STATS_UNKNOWN_RUN",
      });
    });

    it("leave out texts, and take steps in any order, equal ones too", async () => {
      const store = await open();
      await store.startRun(aRun("a"));
      await store.addMetrics("a", [
        aRecord(10, 1),
        aRecord(2, 5),
        aRecord(2, 7, { wall: 5 }),
        aRecord(4, "a text"),
        aRecord(6, -0),
      ]);
      expect(await store.buckets("a", "train/loss", { points: 2 })).toEqual([
        { x: 2, min: 5, max: 7, mean: 6, count: 2, notFinite: 0 },
        { x: 10, min: 0, max: 1, mean: 0.5, count: 2, notFinite: 0 },
      ]);
    });

    it("of many values are made from summaries, exactly where ranges are small", async () => {
      const where = await location();
      const store = await open(where);
      await fillRun(store, "a", 4600);
      await fillRun(store, "other", 60);
      const [spans] = await query(where, "select count(*) as n from {metric_spans}");
      expect(Number(spans?.n)).toBeGreaterThan(8 * 30);
      const read = (choice: Parameters<StatsStore["buckets"]>[2]) => store.buckets("a", "train/m5", choice);

      const coarse = await read({ points: 15 });
      expect(coarse).toHaveLength(15);
      expect(total(coarse, "count")).toBe(4600);
      expect(total(coarse, "notFinite")).toBe(9);
      const whole = expected(5, 1, 4600, 1)[0] as Bucket;
      expect(Math.min(...coarse.map(({ min }) => min as number))).toBe(whole.min);
      expect(Math.max(...coarse.map(({ max }) => max as number))).toBe(whole.max);
      expect(coarse.at(-1)?.x).toBe(4600);
      // Each lies where the values that it stands for lie, but for a span at its edges.
      for (const [i, bucket] of coarse.entries()) {
        const exact = expected(5, 1, 4600, 15)[i] as Bucket;
        expect(Math.abs(bucket.x - exact.x)).toBeLessThan(130);
        expect(Math.abs(bucket.count - exact.count)).toBeLessThan(260);
      }
      expect(await read({ points: 300, from: 2000, to: 3000 })).toEqual(expected(5, 2000, 3000, 300));
      expect(await read({ points: 100, from: 4550 })).toEqual(expected(5, 4550, 4600, 100));
      expect(await store.metrics("a")).toEqual(counts(4600));
      // That of the metric that was logged once lies in a summary.
      expect((await store.latest("a")).map(({ step }) => step)).toEqual([3, ...names.map(() => 4600)]);
      expect(await store.metrics("other")).toEqual(counts(60));
    });

    it("of a run that was resumed forget what comes again", async () => {
      const store = await open();
      await fillRun(store, "a", 4600);
      await store.startRun(aRun("a", { startedAt: 2000, resumedAt: at(1234) }));
      expect(await store.metrics("a")).toEqual(counts(1234));
      expect((await store.latest("a")).map(({ step }) => step)).toEqual([3, ...names.map(() => 1234)]);
      const [all] = await store.buckets("a", "train/m2", { points: 1 });
      expect(all).toEqual(expected(2, 1, 1234, 1)[0]);
      await store.addMetrics("a", windows(1235, 1300));
      expect(await store.buckets("a", "train/m2", { points: 10 })).toHaveLength(10);
      expect(total(await store.buckets("a", "train/m2", { points: 10 }), "count")).toBe(1300);
    });
  });

  describe("marks", () => {
    it("are kept, also when the run is resumed, and only those that are given change", async () => {
      const store = await open();
      await store.startRun(aRun("a", { limits: { epochs: 5 } }));
      await store.mark("a", { tags: ["<b>good</b>", "a\0b"] });
      await store.mark("a", { archived: true });
      expect(await store.run("a")).toMatchObject({
        tags: ["<b>good</b>", "a\uFFFDb"],
        archived: true,
        limits: { epochs: 5 },
      });
      await store.startRun(aRun("a", { startedAt: 2, resumedAt: at(1), limits: { epochs: 9 } }));
      await store.mark("a", {});
      expect(await store.run("a")).toMatchObject({ archived: true, limits: { epochs: 9 } });
      await store.mark("a", { tags: [], archived: false });
      expect(await store.runs()).toMatchObject([{ tags: [], archived: false }]);
      await expect(store.mark("b", {})).rejects.toMatchObject({ code: "STATS_UNKNOWN_RUN" });
    });
  });

  describe("a run that is deleted", () => {
    it("is gone with all that was filed of it, and others stay", async () => {
      const where = await location();
      const store = await open(where);
      for (const id of ["a", "b"]) {
        await fillRun(store, id, 4100);
        await store.add(id, "evaluation", [{ step: 1, name: "e", scores: { s: 1 }, wall: 1 }]);
        await store.add(id, "decision", [
          { hook: "h", event: "e", ran: true, why: "due", fromStep: 1, toStep: 1, times: 1 },
        ]);
        await store.setHookTimings(id, [{ hook: "h", count: 1, mean: 1, p99: 1, max: 1, total: 1 }]);
      }
      const tables = ["runs", "run_heads", "metric_keys", "metric_blocks", "metrics", "metric_spans"];
      const counts = async () =>
        Promise.all(
          [...tables, "metric_parts", "evaluations", "hook_decisions", "hook_timings"].map(async (table) =>
            Number((await query(where, `select count(*) as n from {${table}}`))[0]?.n),
          ),
        );
      const both = await counts();
      const rest = await store.buckets("b", "train/m1", { points: 100 });
      await store.deleteRun("a");
      await expect(store.run("a")).rejects.toMatchObject({ code: "STATS_UNKNOWN_RUN" });
      await expect(store.deleteRun("a")).rejects.toMatchObject({ code: "STATS_UNKNOWN_RUN" });
      expect(await counts()).toEqual(both.map((count) => count / 2));
      expect(await store.buckets("b", "train/m1", { points: 100 })).toEqual(rest);
      expect(await store.counts("b")).toMatchObject({ evaluation: 1, decision: 1, episode: 0 });
      // The id can be used anew.
      await store.startRun(aRun("a"));
      await store.addMetrics("a", [aRecord(1, 1)]);
      expect(await store.place("a")).toBe(1);
      expect(await store.metrics("a")).toEqual([{ key: "train/loss", points: 1 }]);
    });
  });
});
