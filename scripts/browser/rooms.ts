// Fits a network as a page of a browser would, with the rooms up to nn and optim. For scripts/browser.test.ts.
import {
  compile,
  loadWasm,
  np,
  put,
  setEngine,
  spec,
  type Value,
  valueAndGrad,
} from "../../src/engine/index.ts";
import * as nn from "../../src/nn/index.ts";
import * as optim from "../../src/optim/index.ts";

const model = nn.mlp({ hidden: [8], out: 1 });
const optimizer = optim.adam();

export async function run(): Promise<string> {
  await loadWasm();
  setEngine("wasm");
  const step = compile((params: nn.Params, state: optim.OptimizerState, x: Value, y: Value) => {
    const loss = (p: nn.Params) => np.mean(np.square(np.subtract(model.apply(p, x), y)));
    const [value, grads] = valueAndGrad(loss)(params);
    const next = optimizer.update(grads, state, params, { learningRate: 0.05 });
    return { loss: value, params: optim.applyUpdates(params, next.updates), state: next.state };
  });
  const [x, y] = [put([[0], [1], [2], [3]]), put([[1], [3], [5], [7]])];
  let params = model.init(0, spec([4, 1]));
  let state = compile(optimizer.init)(params);
  let loss = Number.POSITIVE_INFINITY;
  for (let i = 0; i < 200; i++) {
    const next = step(params, state, x, y);
    ({ params, state } = next);
    loss = await next.loss.item();
  }
  return loss < 0.01 ? "fitted" : `loss ${loss}`;
}
