// A training set-up whose data is streamed: `espalier prove-resume examples/setups/streamed.ts`. Images are made by
// two worker threads, with random shifts of their own, in a new order each epoch; the model has dropout, and an update
// goes over two batches.
import { nn, optim, type TrainingSetup } from "espalier";
import { createLoader, fromModule } from "espalier/data";
import { accuracy, supervisedTask } from "espalier/supervised";

export const setup: TrainingSetup = async () => {
  const module = new URL("./noisy-glyphs.ts", import.meta.url);
  const images = await fromModule(module, { name: "noisyGlyphs", options: { count: 330 } });
  const { train, validation } = images.split({ train: 0.9, validation: 0.1 }, { seed: 1 });
  return {
    task: await supervisedTask({
      model: nn.sequential([nn.flatten(), nn.dense(32), nn.relu, nn.dropout(0.2), nn.dense(10)]),
      optimizer: optim.adam(),
      data: createLoader(train, { batchSize: 16, workers: 2 }),
      validation,
      loss: nn.crossEntropy,
      metrics: { accuracy },
      batchSize: 16,
      accumulate: 2,
    }),
    config: { epochs: 4, seed: 7, name: "streamed" },
  };
};
