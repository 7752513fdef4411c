// Fine-tuning: a net that was trained on many examples of one task starts another one, of which there are few. New
// ideas: parameters by name, a warm start, and layers that stay as they are.
import assert from "node:assert/strict";
import { nn, optim, spec } from "espalier";
import { glyphs } from "espalier/data";
import { accuracy, supervisedTrainer } from "espalier/supervised";

const netFor = (classes: number) => nn.cnn({ channels: [8, 16], pool: 2, dense: [32], out: classes });
const image = spec([1, 12, 12, 1]);

// Which digit it is, from 1,500 images.
const digits = supervisedTrainer({
  model: netFor(10),
  metrics: { accuracy },
  trainingConfig: { epochs: 10, batchSize: 32, learningRate: 3e-3 },
});
await digits.train({ trainData: await glyphs({ count: 1500, seed: 1 }).toArrays() });

// Whether it is even, from 30 images.
const parity = (seed: number, count: number) =>
  glyphs({ count, seed })
    .map(({ x, y }) => ({ x, y: { data: Int32Array.of((y.data[0] as number) % 2), shape: [] } }))
    .toArrays();
const [few, unseen] = [await parity(2, 30), await parity(3, 300)];

const model = netFor(2);
const drawn = model.init(1, image);
const trainOn = async (params: typeof drawn, optimizer: optim.Optimizer) => {
  const trainer = supervisedTrainer({
    model,
    params,
    optimizer,
    metrics: { accuracy },
    trainingConfig: { epochs: 40, batchSize: 20 },
  });
  const { validation } = await trainer.train({ trainData: few, valData: unseen });
  return validation?.accuracy ?? 0;
};

const scratch = await trainOn(drawn, optim.adam({ learningRate: 3e-3 }));
// All layers but the last one come from the other net, and the convolutions stay as they are.
const known = Object.entries(digits.task.params).filter(([layer]) => layer !== "out");
const warm = { ...drawn, ...Object.fromEntries(known) };
const tuned = await trainOn(warm, optim.freeze(["conv*"], optim.adam({ learningRate: 3e-3 })));
console.log(`from scratch ${scratch.toFixed(3)}, from the digits ${tuned.toFixed(3)}`);
assert.ok(tuned > scratch + 0.05, "what it knew of digits helps");
assert.ok(tuned > 0.8);
