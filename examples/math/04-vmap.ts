// From one example to many: new idea, `vmap`. Here, the gradient of each example by itself, which a loss over the
// whole batch only gives summed up.
import assert from "node:assert/strict";
import { compile, grad, np, put, read, type Value, vmap } from "espalier";

/** The loss of one example: a vector x and a number y. */
const loss = (weights: Value, x: Value, y: Value): Value =>
  np.square(np.subtract(np.sum(np.multiply(weights, x)), y));

const batchLoss = (weights: Value, x: Value, y: Value): Value =>
  np.mean(vmap(loss, { inAxes: [null, 0, 0] })(weights, x, y));

const gradients = compile((weights: Value, x: Value, y: Value) => ({
  each: vmap(grad(loss), { inAxes: [null, 0, 0] })(weights, x, y),
  batch: grad(batchLoss)(weights, x, y),
}));

const weights = [1, -2];
const examples = [
  { x: [1, 0.5], y: 2 },
  { x: [0.5, 2], y: -3 },
  { x: [-1, 1], y: 2 },
];
const { each, batch } = await read(
  gradients(put(weights), put(examples.map((e) => e.x)), put(examples.map((e) => e.y))),
);

examples.forEach(({ x, y }, i) => {
  const row = [...each.subarray(2 * i, 2 * i + 2)];
  const error = x.reduce((sum, at, k) => sum + at * (weights[k] as number), 0) - y;
  console.log(`example ${i}: off by ${error}, gradient ${row.join(", ")}`);
  assert.deepEqual(
    row,
    x.map((at) => 2 * error * at),
    "2 (w·x - y) x",
  );
});
const mean = [0, 1].map((k) => examples.reduce((sum, _, i) => sum + (each[2 * i + k] as number), 0) / 3);
console.log(`their mean: ${mean.join(", ")}; the gradient of the mean loss: ${batch.join(", ")}`);
mean.forEach((value, k) => assert.ok(Math.abs(value - (batch[k] as number)) < 1e-5));
