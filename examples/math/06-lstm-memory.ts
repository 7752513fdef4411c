// Memory: new idea, a model that goes over time. An LSTM is shown a bit in the first of 100 steps, then only noise, and
// says in the last step which bit it was.
import assert from "node:assert/strict";
import { compile, engine, nn, np, optim, put, random, spec, type Value, valueAndGrad } from "espalier";

const [steps, batch] = [100, 64];

/** Sequences [batch, steps, 2] of noise, whose first step shows the bit in the second feature. */
function sequences(key: Value): { readonly x: Value; readonly bits: Value } {
  const [noiseKey, bitKey] = random.split(key);
  const bits = np.astype(random.bernoulli(bitKey, 0.5, [batch]), "f32");
  const noise = random.normal(noiseKey, [batch, steps, 1]);
  const first = np.equal(np.arange(steps), 0);
  const shown = np.where(first, np.expandDims(np.subtract(np.multiply(bits, 2), 1), -1), 0);
  return { x: np.concatenate([noise, np.expandDims(shown, -1)], { axis: -1 }), bits };
}

// A forget gate that starts at log(steps) keeps most of its memory over all of them: there is something to learn from.
const memory = nn.lstm(16, { forgetBias: Math.log(steps) });
const model = nn.sequential({ memory, out: nn.dense(1) });
const optimizer = optim.chain(optim.clipByGlobalNorm(1), optim.adam());

/** What the model says in the last step, as a logit. */
const answer = (params: nn.Params, x: Value): Value => np.slice(model.apply(params, x), ":", -1, 0);

const train = compile((params: nn.Params, state: optim.OptimizerState, key: Value, learningRate: Value) => {
  const { x, bits } = sequences(key);
  const [loss, grads] = valueAndGrad((p: nn.Params) => nn.binaryCrossEntropy(answer(p, x), bits))(params);
  const next = optimizer.update(grads, state, params, { learningRate });
  return { loss, params: optim.applyUpdates(params, next.updates), state: next.state };
});

const test = compile((params: nn.Params, key: Value) => {
  const { x, bits } = sequences(key);
  return np.mean(np.astype(np.equal(np.greater(answer(params, x), 0), np.equal(bits, 1)), "f32"));
});

const keyOf = (seed: number) => put(Uint32Array.from([6, seed]));
let params = model.init(0, spec([batch, steps, 2]));
let state = compile(optimizer.init)(params);
console.log(nn.summary(model, spec([batch, steps, 2])));

// The rate falls to 0: at 1e-2 throughout, one run in eight ends in a spike of the loss.
const updates = 250;
for (let i = 1; i <= updates; i++) {
  const next = train(params, state, keyOf(i), 1e-2 * (1 - (i - 1) / updates));
  ({ params, state } = next);
  if (i % 50 === 0) console.log(`update ${i}: loss ${(await next.loss.item()).toFixed(4)}`);
}

const scores = await Promise.all([1, 2, 3, 4].map((i) => test(params, keyOf(updates + i)).item()));
const accuracy = scores.reduce((sum, score) => sum + score, 0) / scores.length;
console.log(`${(accuracy * 100).toFixed(1)}% of bits remembered over ${steps} steps, on ${engine().name}`);
assert.equal(train.programs, 1, "a new rate compiles nothing");
assert.ok(accuracy >= 0.99, "the bit is remembered");
