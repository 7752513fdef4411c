// Training without a loop of one's own: a task says what to train, a trainer does it. New ideas: `supervisedTask`,
// `Trainer`, a ramp for the learning rate, and validation on examples it has not seen.
import assert from "node:assert/strict";
import { realpathSync } from "node:fs";
import { compile, cosine, nn, np, optim, random, Trainer, type Value } from "espalier";
import { supervisedTask } from "espalier/supervised";

/** Points in two rings and which ring each is in, from one seed: the same on every run. */
export const rings = compile(
  (seed: number) => {
    const [angleKey, noiseKey, ringKey] = random.split(random.key(seed), 3) as [Value, Value, Value];
    const ring = random.bernoulli(ringKey, 0.5, [600]).astype("i32");
    const angle = random.uniform(angleKey, [600]).mul(2 * Math.PI);
    const radius = ring
      .astype("f32")
      .add(0.6)
      .add(random.normal(noiseKey, [600]).mul(0.12));
    return { x: np.stack([np.cos(angle).mul(radius), np.sin(angle).mul(radius)], { axis: 1 }), y: ring };
  },
  { static: [0] },
);

/** The share of points whose ring it names. */
export const accuracy = (outputs: Value, y: Value): Value =>
  np.mean(np.equal(np.argmax(outputs, { axis: 1 }), y).astype("f32"));

if (realpathSync(process.argv[1] ?? ".") === import.meta.filename) {
  const task = supervisedTask({
    model: nn.mlp({ hidden: [32, 32], out: 2 }),
    optimizer: optim.adamw({ weightDecay: 1e-3 }),
    data: rings(1),
    validation: rings(2),
    loss: nn.crossEntropy,
    metrics: { accuracy },
    batchSize: 50,
    learningRate: cosine({ from: 1e-2, to: 0, over: { epochs: 20 } }),
  });

  const result = await new Trainer({ task, config: { epochs: 20, name: "rings" } }).train();

  const { counters, metrics, validation } = result;
  console.log(`${result.outcome}: ${counters.updates} updates on ${counters.samples} examples`);
  console.log(`the last batch: loss ${metrics.loss?.toFixed(4)}, accuracy ${metrics.accuracy}`);
  console.log(
    `unseen points: loss ${validation?.loss?.toFixed(4)}, accuracy ${validation?.accuracy?.toFixed(3)}`,
  );

  assert.equal(counters.updates, 20 * 12);
  assert.ok((validation?.accuracy ?? 0) > 0.97, "it tells the rings apart on points it has not seen");
}
