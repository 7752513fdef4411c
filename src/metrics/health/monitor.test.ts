import { describe, expect, it } from "vitest";
import { put } from "../../engine/index.ts";
import { every, noCounters } from "../../schedule/index.ts";
import { hookContext, simulate } from "../../testing/index.ts";
import { ReportValues, type TrainerContext, type TrainerHook } from "../../trainer/index.ts";
import { gradientMonitor, lossSpikeDetector } from "../index.ts";
import { healthMetrics, type JudgedRow, RowWatch } from "./monitor.ts";

const watchOf = (names: readonly string[], judge: (row: JudgedRow) => void) =>
  new RowWatch({ names, judge, missing: (name) => new Error(`no ${name}`) });

describe("a watch of rows", () => {
  it("shows every batch in its order, one call behind at most, and all of them at the end", async () => {
    const seen: string[] = [];
    const watch = watchOf(["loss"], ({ update, batch, numbers }) =>
      seen.push(`${update} ${batch} ${numbers[0]}`),
    );
    const before: number[] = [];
    const hook: TrainerHook = {
      name: "watch",
      onBatchesEnd: (context) => watch.look(context, () => before.push(seen.length), true),
    };
    const cut: TrainerHook = { name: "cut", onBatchEnd: () => {} };
    const values = ({ batches }: { batches: number }) => ({ loss: batches * 10 });
    await simulate([hook, cut], { batches: 4, values, fuse: true });
    expect(seen).toEqual(["1 1 10", "2 2 20", "3 3 30", "4 4 40"]);
    expect(before).toEqual([0, 1, 2, 3]);
  });

  it.each<[string, number, readonly number[]]>([
    ["every 32 batches", 1, [31, 63, 95]],
    ["after each call of more", 40, [0, 40]],
  ])("has things told %s, of all before", async (_title, updates, told) => {
    let seen = 0;
    const watch = watchOf(["loss"], () => void seen++);
    const counts: number[] = [];
    const hook: TrainerHook = {
      name: "watch",
      onBatchesEnd: (context) => watch.look(context, () => counts.push(seen)),
    };
    const cut: TrainerHook = { name: "cut", schedule: every({ updates }), onBatchEnd: () => {} };
    await simulate([hook, cut], { batches: 100, fuse: true });
    expect(counts.slice(0, told.length)).toEqual(told);
    expect(seen).toBe(100);
  });

  it("counts updates where a batch makes several, what was left out of them, and gives all numbers of a row", async () => {
    const rows: unknown[] = [];
    const watch = watchOf(["norms", "loss"], (row) => rows.push(row));
    const counters = { ...noCounters, updates: 26, batches: 7 };
    const since = { ...noCounters, updates: 20, batches: 5 };
    const segment = {
      phase: "train",
      repeats: 9,
      adds: { updates: 3, batches: 1 },
      fusesWithNext: true,
      maxFuse: 9,
    } as const;
    const values = new ReportValues(
      {
        metrics: {
          // A row more than count, as tasks with room for more give.
          norms: put(
            [
              [1, 2],
              [3, 4],
              [-1, -1],
            ],
            { engine: "wasm" },
          ),
          loss: put([5, 6, -1], { engine: "wasm" }),
        },
        applied: put([3, 1, 0], { engine: "wasm" }),
      },
      2,
      0,
      { spans: [{ segment, index: 0, from: 0, count: 2, at: since }], ramps: () => ({}), began: 0, ended: 1 },
    );
    const context: TrainerContext = { ...hookContext({ counters, since }), values };
    watch.look(context, () => undefined);
    await watch.settle();
    expect(rows).toEqual([
      { update: 23, batch: 6, skipped: 0, applied: true, numbers: [1, 2, 5] },
      { update: 26, batch: 7, skipped: 2, applied: true, numbers: [3, 4, 6] },
    ]);
  });

  it("rejects with what the judge threw, until the run goes on, and then shows what is left", async () => {
    const seen: number[] = [];
    const watch = watchOf(["loss"], ({ numbers }) => {
      seen.push(numbers[0] as number);
      if (seen.length === 1) throw new Error("enough");
    });
    const context = hookContext({ values: { loss: 1 }, counters: { batches: 1 }, since: noCounters });
    watch.look(context, () => undefined);
    watch.look(context, () => undefined);
    await expect(watch.settle()).rejects.toThrow("enough");
    await expect(context.settle()).rejects.toThrow("enough");
    await expect(watch.settle()).rejects.toThrow("enough");
    watch.look(context, () => undefined);
    await watch.settle();
    expect(seen).toEqual([1, 1, 1]);
  });

  it("says at once what the task does not report", () => {
    const context = hookContext({ values: { loss: 1 }, counters: { batches: 1 } });
    expect(() => watchOf(["norm"], () => {}).look(context, () => undefined)).toThrow("no norm");
  });
});

it("declares exactly what the monitors log", async () => {
  const values = () => ({ loss: 1, gradientNorm: 1 });
  const { logged } = await simulate([gradientMonitor(), lossSpikeDetector()], { values });
  const names = new Set(logged.flatMap(({ values }) => Object.keys(values)));
  expect(healthMetrics.map(({ name }) => name).sort()).toEqual([...names].sort());
});
