// Classification: new ideas, layers put together with `nn.sequential`, dropout that needs a key for every step from a
// named random stream, and `nn.crossEntropy` on labels.
import assert from "node:assert/strict";
import { compile, nn, np, optim, RandomStreams, random, spec, type Value, valueAndGrad } from "espalier";

const points = 400;

/** Two spirals around each other and which of them each point is on. */
const makeSpirals = compile((key: Value) => {
  const [alongKey, noiseKey] = random.split(key);
  const along = np.sqrt(random.uniform(alongKey, [points]));
  const labels = np.remainder(np.arange(points), 2).astype("i32");
  const angle = np.add(np.multiply(along, 3 * Math.PI), np.multiply(labels, Math.PI));
  const curve = np.stack([np.multiply(along, np.cos(angle)), np.multiply(along, np.sin(angle))], { axis: 1 });
  return { x: np.add(curve, np.multiply(random.normal(noiseKey, [points, 2]), 0.02)), labels };
});

const model = nn.sequential([nn.dense(64), nn.relu, nn.dense(64), nn.relu, nn.dropout(0.05), nn.dense(2)]);
const optimizer = optim.adam({ learningRate: 5e-3 });

const step = compile(
  (params: nn.Params, state: optim.OptimizerState, x: Value, labels: Value, key: Value) => {
    const lossOf = (p: nn.Params) => nn.crossEntropy(model.apply(p, x, { train: true, key }), labels);
    const [loss, grads] = valueAndGrad(lossOf)(params);
    const { updates, state: next } = optimizer.update(grads, state, params);
    return { loss, params: optim.applyUpdates(params, updates), state: next };
  },
  { donate: [0, 1] },
);
const accuracy = compile((params: nn.Params, x: Value, labels: Value) => {
  const found = np.argmax(model.apply(params, x), { axis: 1 });
  return np.mean(np.equal(found, labels).astype("f32"));
});

const streams = new RandomStreams(8);
const train = makeSpirals(streams.get("data").key());
const test = makeSpirals(streams.get("data").key());
let params = model.init(streams.get("params").key(), spec([points, 2]));
let state = compile(optimizer.init)(params);
console.log(nn.summary(model, spec([points, 2])));
for (let i = 0; i < 600; i++) {
  const result = step(params, state, train.x, train.labels, streams.get("dropout").key());
  ({ params, state } = result);
  if (i % 150 === 0) console.log(`step ${i}: loss ${(await result.loss.item()).toFixed(4)}`);
}
const share = await accuracy(params, test.x, test.labels).item();
console.log(`${(100 * share).toFixed(1)} % of ${points} points it has not seen are told apart rightly`);
assert.ok(share >= 0.98, "the spirals are told apart");
