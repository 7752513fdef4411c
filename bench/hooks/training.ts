import { nn } from "../../src/index.ts";
import { supervisedTask } from "../../src/supervised/index.ts";
import { Trainer, type TrainerHook } from "../../src/trainer/index.ts";
import type { Subject, TimedFigure } from "../harness/figure.ts";
import { seconds } from "../harness/stopwatch.ts";
import { batches, batchSize, examples, fused, model, optimizer, params } from "./smallest.ts";

/** Looks at every batch, so that none are fused, and reads nothing. */
const watching: TrainerHook = { name: "watching", onBatchEnd: () => {} };

/** The smallest net, trained as users do it. */
async function training(together: boolean): Promise<Subject> {
  const data = examples();
  const taskOf = (shuffle: boolean) =>
    supervisedTask({
      ...{ model, optimizer, data, loss: nn.mse, batchSize, shuffle },
      ...{ params: params(), maxFuse: fused, engine: "xla" },
    });
  let loss = Number.NaN;
  const end: TrainerHook = {
    name: "end",
    // The device may still be at work: whoever reads waits for it.
    onTrainingEnd: async ({ state }) => {
      loss = (await state.metrics()).loss ?? Number.NaN;
    },
  };
  const hooks = together ? [end] : [end, watching];
  // In the order in which the examples lie, as the bare loop takes them.
  await new Trainer({ task: taskOf(false), config: { maxUpdates: fused }, hooks }).train();
  const check = loss;
  const task = taskOf(true);
  return {
    check,
    // A step is a batch; runs are whole epochs.
    run: (steps) => seconds(() => new Trainer({ task, config: { epochs: steps / batches }, hooks }).train()),
  };
}

/** The same steps with a trainer and without. */
export const trainingFigures: readonly TimedFigure[] = [true, false].map((together) => ({
  kind: "timed",
  name: `a batch of the smallest net, ${together ? "fused; bare: a scan" : "a hook at every batch; bare: the compiled step"}`,
  engine: "xla",
  unit: "us",
  ours: () => training(together),
  peers: { bare: { script: "bare_training.ts", case: "training", params: { together } } },
  steps: 8 * batches,
  bars: [{ kind: "ratio", against: "bare", atMost: together ? 1.1 : 1.6 }],
}));
