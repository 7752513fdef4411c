// Training: new idea, `valueAndGrad` over a tree of parameters, and a step that gives the next ones.
import assert from "node:assert/strict";
import { compile, np, random, read, type Value, valueAndGrad } from "espalier";

interface Line {
  readonly slope: Value;
  readonly offset: Value;
}

/** Points around the line y = 3x - 1, from one seed: the same on every run. */
const makePoints = compile(() => {
  const [xKey, noiseKey] = random.split(random.key(7));
  const x = random.uniform(xKey, [200]);
  const noise = np.multiply(random.normal(noiseKey, [200]), 0.1);
  return { x, y: np.add(np.subtract(np.multiply(x, 3), 1), noise) };
});

const loss = ({ slope, offset }: Line, x: Value, y: Value): Value =>
  np.mean(np.square(np.subtract(np.add(np.multiply(x, slope), offset), y)));

const step = compile((line: Line, x: Value, y: Value) => {
  const [value, grads] = valueAndGrad(loss)(line, x, y);
  const descend = (parameter: Value, gradient: Value) => np.subtract(parameter, np.multiply(gradient, 0.5));
  return {
    loss: value,
    line: { slope: descend(line.slope, grads.slope), offset: descend(line.offset, grads.offset) },
  };
});

const { x, y } = makePoints();
// Plain numbers may stand for tensors; what comes back stays on the device until it is read.
let { loss: value, line } = step({ slope: 0, offset: 0 }, x, y);
const before = await value.item();
for (let i = 0; i < 300; i++) ({ loss: value, line } = step(line, x, y));

const { slope, offset } = await read(line);
const after = await value.item();
console.log(`loss ${before.toFixed(4)} before, ${after.toFixed(4)} after`);
console.log(`y = ${slope[0]?.toFixed(3)} x ${offset[0]?.toFixed(3)}, from noisy points of y = 3 x - 1`);

assert.equal(step.programs, 1);
assert.ok(after < before / 50);
assert.ok(Math.abs((slope[0] as number) - 3) < 0.1, "the slope is found");
assert.ok(Math.abs((offset[0] as number) + 1) < 0.05, "the offset is found");
