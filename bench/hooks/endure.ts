// Run by memory.ts in a fresh process: trains for a long time and watches the memory.
import { nn } from "../../src/index.ts";
import { every } from "../../src/schedule/index.ts";
import { supervisedTask } from "../../src/supervised/index.ts";
import { Trainer, type TrainerHook } from "../../src/trainer/index.ts";
import type { Endurance } from "../engine/endurance.ts";
import { heldTensors } from "../harness/held-tensors.ts";
import { tenHooks } from "./idle-task.ts";
import { batchSize, examples, model, optimizer, params } from "./smallest.ts";

const [updates, watching] = [Number(process.argv[2]), process.argv[3] === "watching"];

const seen: { readonly megabytes: number; readonly tensors: number }[] = [];
const look: TrainerHook = {
  name: "look",
  schedule: every({ updates: 5000 }),
  onBatchEnd: async ({ snapshot }) => {
    await snapshot(["params"]); // Calls whose numbers have not been looked at yet are, so that nothing waits.
    seen.push({ megabytes: process.memoryUsage.rss() / 2 ** 20, tensors: await heldTensors() });
  },
};
const task = supervisedTask({
  ...{ model, optimizer, data: examples(), loss: nn.mse, params: params(), batchSize, engine: "xla" },
});
await new Trainer({
  task,
  config: { epochs: Number.POSITIVE_INFINITY, maxUpdates: updates },
  hooks: [...tenHooks(watching), look],
}).train();
const [first, ...later] = seen;
const result: Endurance = {
  growth: Math.max(...later.map(({ megabytes }) => megabytes)) - (first?.megabytes ?? Number.NaN),
  tensorsGained: (later.at(-1)?.tensors ?? Number.NaN) - (first?.tensors ?? Number.NaN),
};
process.send?.(result);
