// A small training in plain JavaScript with a stats store. It prints the numbers that it found in the store and a hash
// of the parameters: every version of Node must give the same ones on one engine.
import { hashState, Logger, metricsHook, nn, optim, Trainer } from "espalier";
import { openStatsStore } from "espalier/metrics";
import { supervisedTask } from "espalier/supervised";

const points = Array.from({ length: 64 }, (_, i) => [Math.sin(i), Math.cos(3 * i)]);
const task = supervisedTask({
  model: nn.mlp({ hidden: [16], out: 2 }),
  optimizer: optim.adam({ learningRate: 0.02 }),
  data: { x: points, y: Int32Array.from(points, ([a, b]) => (a * b > 0 ? 1 : 0)) },
  loss: nn.crossEntropy,
  batchSize: 16,
});
const store = await openStatsStore("stats.db");
const metrics = metricsHook({ logger: new Logger({ sinks: [] }), statsStore: store });
const { outcome } = await new Trainer({
  task,
  config: { epochs: 100, seed: 1, name: "stored" },
  hooks: [metrics],
}).train();
if (outcome !== "completed") throw new Error(`the training was ${outcome}`);

const { id } = await store.run("stored");
const losses = (await store.series(id, "train/loss")).map(({ step, value }) => [step, value]);
await store.close();
if (losses.length < 4 || losses.at(-1)[1] > losses[0][1] / 2)
  throw new Error(`it did not learn, or was not stored: ${JSON.stringify(losses)}`);
const { components } = await task.snapshot();
console.log(JSON.stringify({ losses, parameters: await hashState(components.params) }));
