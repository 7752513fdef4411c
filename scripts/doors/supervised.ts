// A training through `espalier/supervised`; the model alone comes from `espalier`.
import assert from "node:assert/strict";
import { nn } from "espalier";
import { supervisedTrainer } from "espalier/supervised";

const trainer = supervisedTrainer({
  model: nn.mlp({ hidden: [16], out: 2 }),
  trainingConfig: { epochs: 200, batchSize: 4, learningRate: 0.03, seed: 1 },
});
const { outcome, metrics } = await trainer.train({
  trainData: { x: [[0, 0], [0, 1], [1, 0], [1, 1]], y: new Int32Array([0, 1, 1, 0]) }, // biome-ignore format: a table
});
assert.equal(outcome, "completed");
assert.ok((metrics.loss ?? 1) < 0.1, `exclusive or is learned: loss ${metrics.loss}`);
console.log(`espalier/supervised: loss ${metrics.loss?.toFixed(4)}`);
