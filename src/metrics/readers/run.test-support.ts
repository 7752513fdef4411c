// A run with fifty metrics, ten thousand steps and 42 validations, in a process of its own: it may be killed in the middle, and goes on
// when it is started again. Arguments: folder, the step at which it kills itself (0: never), a Postgres address or "".
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { checkpointHook } from "../../checkpoint/index.ts";
import { manualClock } from "../../core/index.ts";
import { every } from "../../schedule/index.ts";
import { scriptedTask } from "../../testing/hooks/simulate.ts";
import { Trainer, type TrainerHook } from "../../trainer/index.ts";
import {
  csvSink,
  jsonlSink,
  Logger,
  type MetricRecord,
  metricsHook,
  openStatsStore,
  statsStoreSink,
  tensorBoardSink,
  wandbSink,
} from "../index.ts";

const [folder = "", killAt = "0", postgres = ""] = process.argv.slice(2);
const steps = 10_000;
const metrics = 25;

/** What a metric is at a step: numbers of all sizes, and now and then none. */
function valueAt(metric: number, step: number): number {
  if (metric === 3 && step % 1000 === 500) return Number.NaN;
  if (metric === 4 && step % 2000 === 700) return Number.NEGATIVE_INFINITY;
  return Math.sin(step * (metric + 1)) * 10 ** (metric - 12);
}

/** Logs the same names in two categories, at every step, and now and then a score. */
const numbers: TrainerHook = {
  name: "numbers",
  onBatchEnd: ({ counters: { updates }, log }) => {
    const values = (shift: number) =>
      Object.fromEntries(
        Array.from({ length: metrics }, (_, i) => [`metric ${i}`, valueAt(i, updates) + shift]),
      );
    log(values(0), "train");
    log(values(1), "check");
    if (updates % 237 === 0) log({ accuracy: 0.5 + updates / 30_000 }, "validation");
    if (updates === Number(killAt)) process.kill(process.pid, "SIGKILL");
  },
};

/** What every sink should have, of a run in one go. */
const records: MetricRecord[] = [];
const sqlite = await openStatsStore(join(folder, "stats.db"));
const remote = postgres === "" ? undefined : await openStatsStore(postgres);
const logger = new Logger({
  sinks: [
    { name: "expected", write: (given) => void records.push(...given) },
    jsonlSink(join(folder, "metrics.jsonl")),
    csvSink(join(folder, "metrics.csv")),
    tensorBoardSink(join(folder, "tensorboard")),
    wandbSink({ directory: folder, project: "readers" }),
    statsStoreSink(sqlite, { name: "sqlite" }),
    ...(remote ? [statsStoreSink(remote, { name: "postgres" })] : []),
  ],
  spill: join(folder, "spill"),
});
const off = { batches: false, system: false, timing: false, progress: false, heartbeat: false } as const;
const clock = manualClock(Date.now());
await new Trainer({
  task: scriptedTask({ batches: 500 }, clock),
  config: { epochs: steps / 500, name: "readers", handleSignals: false },
  hooks: [
    numbers,
    metricsHook({ logger, run: { id: "readers" }, ...off }),
    checkpointHook({
      directory: join(folder, "checkpoints"),
      schedule: every({ updates: 1000 }),
      keep: { last: 2 },
    }),
  ],
  clock,
}).train();
await sqlite.close();
await remote?.close();
writeFileSync(
  join(folder, "expected.json"),
  JSON.stringify(
    records.map(({ key, step, value, notFinite }) => [key, step, String(value), notFinite] as const),
  ),
);
