import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { nn, optim } from "../../src/index.ts";
import { jsonlSink, Logger, metricsHook, newRunId, openStatsStore } from "../../src/metrics/index.ts";
import { supervisedTask } from "../../src/supervised/index.ts";
import { Trainer } from "../../src/trainer/index.ts";
import type { CountedFigure } from "../harness/figure.ts";
import { median } from "../harness/statistics.ts";
import { newDirectory } from "./stores.ts";

const CLIENTS = 10;

/** Seconds of a training with its logs and stats store in `directory`. */
async function train(directory: string, id: string, epochs: number): Promise<number> {
  const store = await openStatsStore(join(directory, "stats.db"));
  const logger = new Logger({ sinks: [jsonlSink(join(directory, `${id}.jsonl`))] });
  const x = Float32Array.from({ length: 4096 * 32 }, (_, i) => Math.sin(i));
  const task = supervisedTask({
    model: nn.mlp({ hidden: [128, 128], out: 1 }),
    optimizer: optim.adam({ learningRate: 1e-3 }),
    data: { x: { data: x, shape: [4096, 32] }, y: { data: x.slice(0, 4096), shape: [4096, 1] } },
    loss: nn.mse,
    batchSize: 64,
  });
  const hooks = [metricsHook({ logger, statsStore: store, run: { id, name: "watched" } })];
  const trainer = new Trainer({ task, config: { epochs }, hooks });
  const start = performance.now();
  await trainer.train();
  const seconds = (performance.now() - start) / 1000;
  await store.close();
  return seconds;
}

/** A dashboard in a process of its own, with clients that listen to a run. */
async function watch(directory: string, run: string): Promise<ChildProcess> {
  const child = fork(new URL("./watchers.ts", import.meta.url), [directory, run, String(CLIENTS)]);
  await once(child, "message");
  return child;
}

/**
 * The share of time that training loses while a dashboard with ten clients looks on: the median over pairs of runs, one
 * right after the other, so that a machine that is slower for a minute slows both.
 */
export const slowdownFigure: CountedFigure = {
  kind: "counted",
  name: `training while a dashboard with ${CLIENTS} clients is open: slower by`,
  engine: "host",
  unit: "%",
  bars: [{ kind: "absolute", atMost: 2 }],
  ours: async ({ quick }) => {
    const directory = newDirectory();
    const [rounds, epochs] = quick ? [3, 100] : [25, 250];
    await train(directory, newRunId("first", Date.now()), epochs); // Compiles, and makes the store.
    const ratios: number[] = [];
    for (let round = 0; round < rounds; round++) {
      const seconds = { alone: 0, watched: 0 };
      for (const kind of round % 2 ? (["alone", "watched"] as const) : (["watched", "alone"] as const)) {
        const id = newRunId(`${kind}-${round}`, Date.now());
        const watcher = kind === "watched" ? await watch(directory, id) : undefined;
        seconds[kind] = await train(directory, id, epochs);
        watcher?.disconnect();
        if (watcher) await once(watcher, "exit");
      }
      ratios.push(seconds.watched / seconds.alone);
    }
    return 100 * (median(ratios) - 1);
  },
};
