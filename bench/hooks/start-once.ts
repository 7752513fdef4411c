// Run by start.ts in a fresh process: how long it takes from nothing to the first batch, or to its end.
import { performance } from "node:perf_hooks";
import { nn, np, optim } from "../../src/index.ts";
import { supervisedTask } from "../../src/supervised/index.ts";
import { Trainer } from "../../src/trainer/index.ts";
import { tenHooks } from "./idle-task.ts";

const [vocabulary, context, rows] = [96, 128, 1024];
const tokens = Int32Array.from({ length: rows * context }, (_, i) => (i * 31) % vocabulary);
const until = process.argv[2];
const start = performance.now();

/** Tells how long it took; nothing after it matters. */
const tell = (): void => {
  process.send?.((performance.now() - start) / 1000, () => process.exit(0));
};

const task = supervisedTask({
  model: nn.transformer({ vocabulary, width: 128, layers: 4, heads: 4, context }),
  optimizer: optim.adamw({ learningRate: 3e-4 }),
  data: { x: { data: tokens, shape: [rows, context] }, y: { data: tokens, shape: [rows, context] } },
  loss: (outputs, y) => np.mean(nn.crossEntropy(outputs, y, { reduction: "none" })),
  batchSize: 32,
  engine: "xla",
});
const trainer = new Trainer({
  task,
  hooks: [
    ...tenHooks(true),
    until === "begin"
      ? { name: "tell", onBatchStart: tell }
      : { name: "tell", onBatchEnd: ({ state }) => state.metrics().then(tell) },
  ],
});
await trainer.train();
