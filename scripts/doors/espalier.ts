// A training through `espalier` and no other door: a task of its own, whose step is compiled, in the trainer. Methods of
// values are all the math there is, so that nothing else brings them.
import assert from "node:assert/strict";
import { compile, constant, put, type Task, Trainer, type Value } from "espalier";

const x = put([0, 1, 2, 3]);
const y = put([1, 3, 5, 7]); // 2x + 1
const step = compile((w: Value, b: Value, x: Value, y: Value, rate: number | Value) => {
  const off = x.mul(w).add(b).sub(y);
  const [byW, byB] = [off.mul(x).mean().mul(2), off.mean().mul(2)];
  return { w: w.sub(byW.mul(rate)), b: b.sub(byB.mul(rate)), loss: off.square().mean().reshape(1) };
});

let line = { w: put(0), b: put(0) };
const task: Task = {
  components: {},
  sampleUnit: "examples",
  stepUnit: "updates",
  ramps: { rate: constant(0.1) },
  epoch: () => [
    { phase: "train", repeats: 10, adds: { updates: 1, samples: 4 }, fusesWithNext: false, maxFuse: 1 },
  ],
  run: ({ ramps }) => {
    const { loss, ...next } = step(line.w, line.b, x, y, ramps.rate?.[0] ?? 0);
    line = next;
    return { metrics: { loss } };
  },
  snapshot: () => ({ components: {} }),
};

const { outcome, counters } = await new Trainer({ task, config: { epochs: 20 } }).train();
assert.equal(outcome, "completed");
assert.equal(counters.updates, 200);
const [w, b] = [await line.w.item(), await line.b.item()];
assert.ok(Math.abs(w - 2) < 0.05 && Math.abs(b - 1) < 0.1, `2x + 1 is found, not ${w}x + ${b}`);
console.log(`espalier: ${w.toFixed(3)}x + ${b.toFixed(3)}`);
