// CommonJS: `require` gives the very modules that `import` gives, and a training runs.
const assert = require("node:assert/strict");
const { nn, Tensor } = require("espalier");
const { supervisedTrainer } = require("espalier/supervised");
const { ppo } = require("espalier/rl");
const { simulate } = require("espalier/testing");

(async () => {
  assert.equal((await import("espalier")).Tensor, Tensor);
  const trainer = supervisedTrainer({
    model: nn.mlp({ hidden: [8], out: 1 }),
    trainingConfig: { epochs: 100, batchSize: 4, learningRate: 0.05, seed: 1 },
  });
  const x = [[0], [1], [2], [3]];
  const { outcome, metrics } = await trainer.train({ trainData: { x, y: [[1], [3], [5], [7]] } });
  assert.equal(outcome, "completed");
  assert.ok(metrics.loss < 1, `loss ${metrics.loss}`);
  assert.equal((await ppo({ env: "CartPole-v1", seed: 1 }).train({ steps: 256 })).outcome, "completed");
  assert.equal((await simulate({ name: "watch", onEpochEnd: () => undefined })).outcome, "completed");
})();
