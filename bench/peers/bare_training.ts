// The smallest net without a trainer, by hand: what bench/hooks.ts compares training with.
import {
  compile,
  hostRandom,
  nn,
  np,
  optim,
  put,
  scan,
  type Tensor,
  treeLeaves,
  type Value,
  valueAndGrad,
} from "../../src/index.ts";
import { batches, batchSize, examples, fused, model, optimizer, params } from "../hooks/smallest.ts";
import { type Case, serve } from "./protocol.ts";

interface Examples<T> {
  readonly x: T;
  readonly y: T;
  readonly order: T;
}

/** One update by the batch that begins at `start` of the order. */
function step(now: nn.Params, state: optim.OptimizerState, { x, y, order }: Examples<Value>, start: Value) {
  const rows = np.dynamicSlice(order, [start], [batchSize]);
  const [inputs, targets] = [np.take(x, rows, { axis: 0 }), np.take(y, rows, { axis: 0 })];
  const [loss, grads] = valueAndGrad((p: nn.Params) => nn.mse(model.apply(p, inputs), targets))(now);
  const next = optimizer.update(grads, state, now);
  return [optim.applyUpdates(now, next.updates), next.state, loss] as const;
}

/** Many updates in one call, from `start` on. */
function steps(now: nn.Params, state: optim.OptimizerState, data: Examples<Value>, start: Value) {
  const [last, losses] = scan(
    (carry: { readonly now: nn.Params; readonly state: optim.OptimizerState }, _x: undefined, i: Value) => {
      const [next, nextState, loss] = step(carry.now, carry.state, data, i.mul(batchSize).add(start));
      return [{ now: next, state: nextState }, loss] as const;
    },
    { now, state },
    undefined,
    { length: fused },
  );
  return [last.now, last.state, losses] as const;
}

async function training({ together }: { readonly together: boolean }): Promise<Case> {
  const size = batches * batchSize;
  const inOrder = Int32Array.from({ length: size }, (_, i) => i);
  let data = { ...examples(), order: put(inOrder, { engine: "xla" }) };
  const call = compile(
    (now: nn.Params, state: optim.OptimizerState, data: Examples<Value>, start: Value) =>
      (together ? steps : step)(now, state, data, np.take(start, 0)),
    { engine: "xla" },
  );
  const perCall = together ? fused : 1;
  const start = new Int32Array(1);
  let now = params();
  let state = compile((p: nn.Params) => optimizer.init(p), { engine: "xla" })(now);
  const run = async (count: number): Promise<number> => {
    let last: Tensor | undefined;
    for (let done = 0; done < count; done += perCall) {
      const before = [now, state, last ?? []];
      [now, state, last] = call(now, state, data, start);
      // As Python frees what a name no longer holds.
      for (const tensor of treeLeaves(before as never)) (tensor as unknown as Tensor).dispose();
      start[0] = ((start[0] as number) + perCall * batchSize) % size;
    }
    return (await last?.read())?.at(-1) as number;
  };
  const check = await run(fused);
  // Gathering is timed as it is in training: from all over the examples, in one order that stays.
  const shuffled = Int32Array.from(hostRandom.hostPermutation(hostRandom.hostKey(0), size));
  data = { ...data, order: put(shuffled, { engine: "xla" }) };
  return { check, run };
}

await serve(() => "the same steps without a trainer", { training });
