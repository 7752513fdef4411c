import { Trainer } from "../../src/trainer/index.ts";
import type { Subject, TimedFigure } from "../harness/figure.ts";
import { seconds } from "../harness/stopwatch.ts";
import { epochLength, idleTask, tenHooks } from "./idle-task.ts";

/** Batches through a trainer with ten hooks and a task that does nothing. */
async function batches(watching: boolean): Promise<Subject> {
  const task = idleTask();
  return {
    run: (steps) => {
      const epochs = Math.ceil(steps / epochLength);
      const trainer = new Trainer({ task, config: { epochs }, hooks: tenHooks(watching) });
      return seconds(() => trainer.train());
    },
  };
}

/** What the trainer costs a batch by itself. */
export const ownCost: readonly TimedFigure[] = [false, true].map((watching) => ({
  kind: "timed",
  name: `the trainer's own cost a batch with ten hooks, ${watching ? "one of them at every batch" : "fused"}`,
  engine: "host",
  unit: "us",
  ours: () => batches(watching),
  peers: { lightning: { script: "lightning_hooks.py", case: "own-cost", params: { callbacks: 10 } } },
  bars: [
    { kind: "absolute", atMost: 3 },
    { kind: "ratio", against: "lightning", atMost: 1 / 50 },
    { kind: "absolute", atMost: 5000, asked: "003" },
  ],
}));
