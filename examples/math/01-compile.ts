// A compiled function and its derivative.
//
// The function handed to `compile` is called once for each shape of its arguments, with values that have no numbers
// yet; what it computes with them becomes a program. Later calls only run the program.
import assert from "node:assert/strict";
import { compile, grad, np, put, read, type Value } from "espalier";

let traced = 0;
const wave = (x: Value): Value => {
  traced++;
  return np.sum(np.multiply(np.square(x), np.sin(x)));
};

const total = compile(wave);
const slope = compile((x: Value) => grad(wave)(x));

const points = Array.from({ length: 5 }, (_, i) => i - 2);
const x = put(points); // five f32 numbers on the device
const numbers = await read({ total: total(x), slope: slope(x) });
console.log(`sum of x² sin x over ${points.join(", ")}: ${numbers.total[0]}`);
console.log(`its slope at each: ${[...numbers.slope].map((value) => value.toFixed(4)).join(", ")}`);

// The derivative of x² sin x is 2x sin x + x² cos x.
points.forEach((at, i) => {
  const known = 2 * at * Math.sin(at) + at ** 2 * Math.cos(at);
  assert.ok(Math.abs((numbers.slope[i] as number) - known) < 1e-5, `the slope at ${at} is ${known}`);
});

total(put([0.5, 1, 1.5, 2, 2.5])); // the same shape: nothing is traced
assert.equal(traced, 2);
total(put([1, 2])); // another shape: one more program
assert.deepEqual([traced, total.programs], [3, 2]);
console.log("traced once for each function and shape");
