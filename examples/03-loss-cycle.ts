// An objective of several terms, each with its own weight and its own time. New ideas: losses as objects, a cycle, a
// weight that changes, and terms that share one forward pass. The model learns a curve; every third and fourth epoch
// of four a second term pulls its slope towards zero, and less so as training goes on.
import assert from "node:assert/strict";
import { realpathSync } from "node:fs";
import {
  compile,
  cycle,
  linear,
  nn,
  np,
  optim,
  random,
  Trainer,
  type TrainerHook,
  type Value,
} from "espalier";
import { supervisedTask } from "espalier/supervised";

export const points = compile(() => {
  const x = random.uniform(random.key(7), [256, 1]).mul(4).sub(2);
  return { x, y: np.sin(x.mul(2)) };
});

type Terms = { readonly outputs: Value; readonly batch: { readonly y: Value } };
export const fit = ({ outputs, batch }: Terms) => ({ loss: nn.mse(outputs, batch.y) });
export const small = ({ outputs }: Pick<Terms, "outputs">) => ({
  loss: np.mean(np.square(outputs)),
  metrics: { size: np.max(np.abs(outputs)) },
});

/** Which terms reported in which epoch: those of the batches that ran last before its end. */
let reported: readonly string[] = [];
const seen: string[] = [];
export const watch: TrainerHook = {
  name: "watch",
  onBatchesEnd({ values }) {
    reported = values?.names ?? [];
  },
  onEpochEnd() {
    seen.push(reported.filter((name) => name.endsWith(".loss")).join(" + "));
  },
};

if (realpathSync(process.argv[1] ?? ".") === import.meta.filename) {
  const task = supervisedTask({
    model: nn.mlp({ hidden: [32, 32], out: 1, activation: nn.tanh }),
    optimizer: optim.adam({ learningRate: 5e-3 }),
    data: points(),
    loss: [
      { name: "fit", term: fit },
      {
        name: "small",
        weight: linear({ from: 0.5, to: 0, over: { epochs: 40 } }),
        active: { train: cycle({ epochs: 4, active: [3, 4] }) },
        term: small,
      },
    ],
    batchSize: 64,
  });

  const { metrics, counters } = await new Trainer({ task, config: { epochs: 48 }, hooks: [watch] }).train();
  console.log(
    seen
      .slice(0, 8)
      .map((terms, epoch) => `epoch ${epoch}: ${terms}`)
      .join("\n"),
  );
  console.log(`after ${counters.epochs} epochs: ${JSON.stringify(metrics)}`);

  assert.deepEqual(seen.slice(0, 5), [
    "fit.loss",
    "fit.loss",
    "fit.loss + small.loss",
    "fit.loss + small.loss",
    "fit.loss",
  ]);
  assert.ok((metrics["fit.loss"] ?? 1) < 0.02, "the curve is learnt, since the second term faded out");
}
