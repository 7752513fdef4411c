// A loop inside the program: new idea, `scan`, with a length that is known only when it runs.
//
// One executable serves every length, so that how training is cut into calls never changes a bit of the result.
import assert from "node:assert/strict";
import { compile, grad, np, put, read, scan, type Tensor, type Value } from "espalier";

const points = Array.from({ length: 64 }, (_, i) => i / 32 - 1);
const x = put(points);
const y = put(points.map((at) => Math.cos(3 * at)));

/** A polynomial of degree 4, by its five coefficients. */
const loss = (coefficients: Value): Value => {
  const powers = np.stack([0, 1, 2, 3, 4].map((k) => np.power(x, k)));
  return np.mean(np.square(np.subtract(np.matmul(coefficients, powers), y)));
};

/** `steps` steps of gradient descent in one call. */
const train = compile((coefficients: Value, steps: Value) => {
  const [result] = scan(
    (now: Value) => [np.subtract(now, np.multiply(grad(loss)(now), 0.3)), null],
    coefficients,
    undefined,
    { length: steps },
  );
  return { coefficients: result, loss: loss(result) };
});

const count = (n: number): Tensor => put(n, { dtype: "i32" });
const start = put([0, 0, 0, 0, 0]);

const together = await read(train(start, count(500)));
const one = count(1);
let stepwise = train(start, one);
for (let i = 1; i < 500; i++) stepwise = train(stepwise.coefficients, one);
const apart = await read(stepwise);

console.log(`500 steps in one call:  loss ${together.loss[0]}`);
console.log(`500 calls of one step:  loss ${apart.loss[0]}`);
assert.deepEqual(together.coefficients, apart.coefficients, "the same bits");
assert.deepEqual(together.loss, apart.loss);
assert.equal(train.programs, 1, "one program serves both");
assert.ok((together.loss[0] as number) < 0.01);
