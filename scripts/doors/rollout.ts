// A worker's rollouts through `espalier/rollout` and no other door: a generator that guesses a number.
import assert from "node:assert/strict";
import {
  inProcessTransport,
  LoggingHook,
  type NamedArrays,
  type RolloutGenerator,
  RolloutWorker,
} from "espalier/rollout";

let right = 0;
const generator: RolloutGenerator = {
  lessons: ["guess"],
  setParams: (params) => {
    right = Number((params as NamedArrays).right?.data[0]);
  },
  rollout: async ({ key }) => {
    const reward = Float32Array.from(key, (word) => Number(word % 4 === right));
    const mean = (reward[0] as number) / 2 + (reward[1] as number) / 2;
    return { arrays: { reward: { data: reward, shape: [2] } }, episodes: 2, return: mean, positive: mean };
  },
  evaluate: async ({ examples }) => ({ episodes: examples, return: 1, positive: 1 }),
};
const transport = inProcessTransport({ capacity: 30 });
await transport.publish({ id: 7, arrays: { right: { data: Float32Array.of(3), shape: [1] } } });
const worker = new RolloutWorker({ generator, link: transport.worker("worker-0"), seed: 1 });
worker.registerHook(new LoggingHook({ frequency: 10 }));
const { outcome, steps } = await worker.run({ steps: 20 });
assert.equal(outcome, "completed");
const first = await transport.take();
assert.equal(first?.weightId, 7);
console.log(`espalier/rollout: ${steps} rollouts, the first with weights ${first.weightId}`);
