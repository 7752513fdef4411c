// Attention: new idea, a transformer. It reads 8 letters and a mark, then writes the letters backwards, each from those
// it has written before; at the end it does so by itself, token by token with a cache.
import assert from "node:assert/strict";
import { compile, engine, nn, np, optim, put, random, scan, spec, type Value, valueAndGrad } from "espalier";

const [letters, length, batch] = [8, 8, 64];
const mark = letters;
const context = 2 * length;

const model = nn.transformer({ vocabulary: letters + 1, width: 32, layers: 2, heads: 4, context });
const optimizer = optim.adamw({ learningRate: 3e-3, weightDecay: 0 });

/** Letters, mark, letters backwards: what is read, and what comes next at every place. */
function lines(key: Value): { readonly read: Value; readonly next: Value } {
  const first = random.randint(key, [batch, length], 0, letters);
  const marks = np.full([batch, 1], mark, { dtype: "i32" });
  const whole = np.concatenate([first, marks, np.flip(first, { axis: 1 })], { axis: 1 });
  return { read: np.slice(whole, ":", [0, context]), next: np.slice(whole, ":", [1, context + 1]) };
}

/** The letters before the mark cannot be known: only what comes behind it counts. */
const lossOf = (params: nn.Params, read: Value, next: Value): Value =>
  nn.crossEntropy(
    np.slice(model.apply(params, read), ":", [length, context]),
    np.slice(next, ":", [length, context]),
  );

const train = compile((params: nn.Params, state: optim.OptimizerState, key: Value) => {
  const { read, next } = lines(key);
  const [loss, grads] = valueAndGrad((p: nn.Params) => lossOf(p, read, next))(params);
  const update = optimizer.update(grads, state, params);
  return { loss, params: optim.applyUpdates(params, update.updates), state: update.state };
});

/** Writes behind the mark by itself, and says which share of letters is right. */
const test = compile((params: nn.Params, key: Value) => {
  const { read, next } = lines(key);
  const start = model.applyCached(params, np.slice(read, ":", [0, length + 1]), model.initCache(batch), 0);
  const best = (logits: Value): Value => np.astype(np.argmax(logits, { axis: -1 }), "i32");
  const first = best(np.slice(start.y, ":", [length, length + 1]));
  const [, rest] = scan(
    (
      now: { readonly token: Value; readonly cache: readonly nn.KeyValueCache[] },
      _x: undefined,
      i: Value,
    ) => {
      const step = model.applyCached(params, now.token, now.cache, np.add(i, length + 1));
      const token = best(step.y);
      return [{ token, cache: step.cache }, np.slice(token, ":", 0)];
    },
    { token: first, cache: start.cache },
    undefined,
    { length: length - 1 },
  );
  const written = np.concatenate([first, np.transpose(rest)], { axis: 1 });
  const right = np.equal(written, np.slice(next, ":", [length, context]));
  return { accuracy: np.mean(np.astype(right, "f32")), read, written };
});

const keyOf = (seed: number) => put(Uint32Array.from([7, seed]));
let params = model.init(0, spec([batch, context], "i32"));
let state = compile(optimizer.init)(params);
console.log(nn.summary(model, spec([batch, context], "i32"), { depth: 1 }));

const updates = 400;
for (let i = 1; i <= updates; i++) {
  const next = train(params, state, keyOf(i));
  ({ params, state } = next);
  if (i % 80 === 0) console.log(`update ${i}: loss ${(await next.loss.item()).toFixed(4)}`);
}

const { accuracy, read, written } = test(params, keyOf(updates + 1));
const text = (tokens: ArrayLike<number>): string =>
  Array.from(tokens, (token) => (token === mark ? ">" : "abcdefgh"[token])).join("");
const share = await accuracy.item();
console.log(
  `reads ${text((await read.read()).subarray(0, length + 1))} and writes ${text((await written.read()).subarray(0, length))}`,
);
console.log(`${(share * 100).toFixed(1)}% of letters right, on ${engine().name}`);
assert.ok(share >= 0.99, "it reverses");
