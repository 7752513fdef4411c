import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type MetricRecord, openStatsStore, type StatsStore } from "../../src/metrics/index.ts";

/** A directory of runs that is gone when the bench has ended. */
export function newDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), "espalier-dashboard-"));
  process.once("exit", () => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

const START = Date.now() - 3_600_000;
const counters = { epoch: 0, epochs: 0, batches: 0, updates: 0, samples: 0, steps: 0, seconds: 0 };

/** One value of a metric. */
export const record = (name: string, step: number, value: number, wall: number): MetricRecord => ({
  category: "train",
  name,
  key: `train/${name}`,
  unit: undefined,
  step,
  axis: "steps",
  counters: { ...counters, steps: step },
  wall,
  value,
  reduction: "mean",
  count: 1,
  notFinite: 0,
});

/** Files a run of so many metrics with so many points each, as a training would: window by window. */
export async function fileRun(store: StatsStore, id: string, metrics: number, points: number): Promise<void> {
  await store.startRun({ id, name: id, startedAt: START, config: { model: "mlp" } });
  const windows = 50;
  for (let first = 0; first < points; first += windows) {
    const records: MetricRecord[] = [];
    for (let point = first; point < Math.min(first + windows, points); point++)
      for (let metric = 0; metric < metrics; metric++)
        records.push(
          record(
            `metric-${metric}`,
            point * 100,
            Math.exp(-point / (points / 4)) * (1 + 0.3 * Math.sin(point * (metric + 1))) + metric / 100,
            START + point * 30,
          ),
        );
    await store.addMetrics(id, records);
  }
  await store.endRun(id, { outcome: "completed", counters });
}

export const openStore = (directory: string): Promise<StatsStore> =>
  openStatsStore(join(directory, "stats.db"));
