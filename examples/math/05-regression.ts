// A model and an optimizer: new ideas, `nn.mlp` and `optim`. The learning rate falls from step to step and never
// compiles anew, because rates are inputs of the step.
import assert from "node:assert/strict";
import { compile, nn, np, optim, random, spec, type Value, valueAndGrad } from "espalier";

/** Points around the curve y = sin(3x), from one seed: the same on every run. */
const makePoints = compile(() => {
  const [xKey, noiseKey] = random.split(random.key(5));
  const x = np.subtract(np.multiply(random.uniform(xKey, [512, 1]), 4), 2);
  return { x, y: np.add(np.sin(np.multiply(x, 3)), np.multiply(random.normal(noiseKey, [512, 1]), 0.1)) };
});

const model = nn.mlp({ hidden: [32, 32], out: 1, activation: nn.tanh });
const optimizer = optim.chain(
  optim.clipByGlobalNorm(1),
  optim.adamw({ weightDecay: 1e-3, mask: ["!**.b"] }), // weights decay, biases do not
);

const step = compile(
  (params: nn.Params, state: optim.OptimizerState, rates: optim.Rates, x: Value, y: Value) => {
    const [loss, grads] = valueAndGrad((p: nn.Params) => nn.mse(model.apply(p, x), y))(params);
    const { updates, state: next } = optimizer.update(grads, state, params, rates);
    return { loss, params: optim.applyUpdates(params, updates), state: next };
  },
);

const { x, y } = makePoints();
let params = model.init(0, spec([512, 1]));
let state = compile(optimizer.init)(params);

const steps = 900;
for (let i = 0; i < steps; i++) {
  const learningRate = 0.005 * (1 + Math.cos((Math.PI * i) / steps));
  const result = step(params, state, { learningRate }, x, y);
  ({ params, state } = result);
  if (i % 150 === 0 || i === steps - 1) {
    const [loss, norm] = [await result.loss.item(), await optim.valueIn(state, "norm").item()];
    console.log(`step ${i}: loss ${loss.toFixed(4)}, gradient norm ${norm.toFixed(4)}`);
  }
}

// How far the model is from the curve itself, between the points it has seen.
const off = compile((params: nn.Params) => {
  const at = np.linspace(-2, 2, 401).reshape(401, 1);
  return np.sqrt(nn.mse(model.apply(params, at), np.sin(np.multiply(at, 3))));
});
const error = await off(params).item();
console.log(`off by ${error.toFixed(4)} from y = sin(3x), having seen it with noise of 0.1`);

assert.equal(step.programs, 1, "a new learning rate compiles nothing");
assert.ok(error < 0.05, "the curve is found through the noise");
