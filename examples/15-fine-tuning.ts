// Fine-tuning: a net that was trained on many examples of one task starts another one, of which there are few. New
// ideas: parameters by name, a warm start, and layers that stay as they are.
import assert from "node:assert/strict";
import { realpathSync } from "node:fs";
import { nn, optim, type Tensor, type TrainerHook } from "espalier";
import { glyphs } from "espalier/data";
import { accuracy, supervisedTrainer } from "espalier/supervised";

export const netFor = (classes: number) => nn.cnn({ channels: [8, 16], pool: 2, dense: [32], out: classes });

/** A net that was trained to tell which digit it is, from 1,500 images. */
async function trainDigits(): Promise<nn.Params<Tensor>> {
  const digits = supervisedTrainer({
    model: netFor(10),
    metrics: { accuracy },
    trainingConfig: { epochs: 10, batchSize: 32, learningRate: 3e-3 },
  });
  await digits.train({ trainData: await glyphs({ count: 1500, seed: 1 }).toArrays() });
  return digits.task.params;
}

/**
 * All layers but the last one come from the net of digits. It is trained when a run begins: a plan of the run needs no
 * training, nor does a run that goes on from a checkpoint.
 */
export const warmStart: TrainerHook = {
  name: "warmStart",
  async onTrainingStart({ counters, components: { params } }) {
    if (counters.updates > 0 || !params) return;
    const known = Object.entries(await trainDigits()).filter(([layer]) => layer !== "out");
    const drawn = (await params.getState()) as nn.Params<Tensor>;
    await params.setState({ ...drawn, ...Object.fromEntries(known) });
  },
};

/** Images, and whether the digit is even. */
export const parity = (seed: number, count: number) =>
  glyphs({ count, seed })
    .map(({ x, y }) => ({ x, y: { data: Int32Array.of((y.data[0] as number) % 2), shape: [] } }))
    .toArrays();

if (realpathSync(process.argv[1] ?? ".") === import.meta.filename) {
  // From 30 images.
  const [few, unseen] = [await parity(2, 30), await parity(3, 300)];

  const model = netFor(2);
  const trainOn = async (optimizer: optim.Optimizer, hooks: TrainerHook[]) => {
    const trainer = supervisedTrainer({
      model,
      hooks,
      optimizer,
      metrics: { accuracy },
      trainingConfig: { epochs: 40, batchSize: 20 },
    });
    const { validation } = await trainer.train({ trainData: few, valData: unseen });
    return validation?.accuracy ?? 0;
  };

  const scratch = await trainOn(optim.adam({ learningRate: 3e-3 }), []);
  // The convolutions stay as they are.
  const tuned = await trainOn(optim.freeze(["conv*"], optim.adam({ learningRate: 3e-3 })), [warmStart]);
  console.log(`from scratch ${scratch.toFixed(3)}, from the digits ${tuned.toFixed(3)}`);
  assert.ok(tuned > scratch + 0.05, "what it knew of digits helps");
  assert.ok(tuned > 0.8);
}
