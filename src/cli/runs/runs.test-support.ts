import { afterEach } from "vitest";
import { type MetricRecord, openStatsStore, type RunEnding, type StatsStore } from "../../metrics/index.ts";
import { noCounters } from "../../schedule/index.ts";
import { testDirectory } from "../checkpoint/checkpoints.test-support.ts";
import { createProgram } from "../program.ts";
import type { Output } from "../terminal.ts";
import { type Surroundings, thisProcess } from "../terminal.ts";
import { registerRuns } from "./command.ts";

/** When the tests take place. */
export const NOW = new Date(2026, 10, 15, 12, 0, 0).getTime();

/** A directory for each test, and SQLite files in it. */
export function testStores() {
  const { path } = testDirectory();
  const open: StatsStore[] = [];
  // Before the directory goes, which is registered first and so cleaned up last.
  afterEach(async () => {
    for (const store of open.splice(0)) await store.close();
  });
  const testStore = async (name = "stats.db"): Promise<StatsStore> => {
    const clock = { now: () => NOW, wall: () => NOW };
    const store = await openStatsStore(path(name), { clock });
    open.push(store);
    return store;
  };
  return { path, testStore };
}

/** A record of a number, a text or a histogram. */
export function record(
  key: string,
  step: number,
  value: MetricRecord["value"],
  more: Partial<MetricRecord> = {},
): MetricRecord {
  const [category = "", ...name] = key.split("/");
  const broken = typeof value === "number" && !Number.isFinite(value);
  return {
    ...{
      category,
      name: name.join("/"),
      key,
      unit: undefined,
      step,
      axis: "updates",
      value,
      reduction: "mean",
    },
    ...{ counters: { ...noCounters, updates: step, steps: step }, wall: NOW - 600_000 + step, count: 1 },
    notFinite: broken ? 1 : 0,
    ...more,
  };
}

/** Files a run that began ten minutes ago, with these records. */
export async function filed(
  store: StatsStore,
  id: string,
  records: readonly MetricRecord[],
  {
    name = id,
    ending,
    startedAt = NOW - 600_000,
  }: { name?: string; ending?: RunEnding; startedAt?: number } = {},
): Promise<void> {
  await store.startRun({ id, name, startedAt, config: { lr: 0.001, net: { layers: [64, 64] } } });
  await store.addMetrics(id, records);
  if (ending) await store.endRun(id, ending);
}

export const completed: RunEnding = {
  outcome: "completed",
  reason: "3 epochs reached",
  counters: { ...noCounters, epochs: 3, updates: 300, samples: 19_200, seconds: 125 },
};

/** What is printed, with a reader that may go away. */
export function captured(more: Partial<Output> = {}): Output & { readonly text: () => string } {
  const parts: string[] = [];
  return {
    isTTY: false,
    columns: undefined,
    gone: new AbortController().signal,
    write: async (part) => void parts.push(typeof part === "string" ? part : Buffer.from(part).toString()),
    text: () => parts.join(""),
    ...more,
  };
}

/** Runs `espalier ...` in this process and gives what it printed. */
export async function espalier(args: readonly string[], more: Partial<Surroundings> = {}) {
  const out = captured();
  const err = captured();
  const before = process.exitCode;
  process.exitCode = undefined;
  let error: unknown;
  try {
    const around: Surroundings = {
      ...{ out, err, env: { LANG: "C.UTF-8" }, clock: { wall: () => NOW } },
      openStore: thisProcess().openStore,
      pause: () => Promise.reject(new Error("nothing to wait for in this test")),
      interrupts: () => ({ signal: new AbortController().signal, stop: () => undefined }),
      ...more,
    };
    await createProgram([(program) => registerRuns(program, around)]).parseAsync(args, { from: "user" });
  } catch (thrown) {
    error = thrown;
  }
  const code = process.exitCode ?? (error ? 1 : 0);
  process.exitCode = before;
  return { code, text: out.text(), errors: err.text(), error: error === undefined ? "" : String(error) };
}
