import {
  compile,
  type nn,
  optim,
  type Spec,
  type Tensor,
  type Value,
  valueAndGrad,
} from "../../src/index.ts";
import type { Subject } from "../harness/figure.ts";
import { seconds } from "../harness/stopwatch.ts";

interface Training {
  readonly model: nn.Model;
  readonly input: Spec;
  readonly x: Tensor;
  readonly y: Tensor;
  readonly loss: (output: Value, y: Value) => Value;
}

/** Steps of AdamW on one batch, waiting for the loss of each. */
export async function training({ model, input, x, y, loss }: Training): Promise<Subject> {
  const optimizer = optim.adamw({ learningRate: 3e-4, weightDecay: 0.01 });
  const step = compile(
    (params: nn.Params, state: optim.OptimizerState, x: Value, y: Value) => {
      const [value, grads] = valueAndGrad((p: nn.Params) => loss(model.apply(p, x), y))(params);
      const next = optimizer.update(grads, state, params);
      return [optim.applyUpdates(params, next.updates), next.state, value] as const;
    },
    { engine: "xla", donate: [0, 1] },
  );
  let params = model.init(0, input, { engine: "xla" });
  let state = compile((p: nn.Params) => optimizer.init(p), { engine: "xla" })(params);
  const run = async (steps: number): Promise<void> => {
    for (let i = 0; i < steps; i++) {
      const [nextParams, nextState, value] = step(params, state, x, y);
      params = nextParams;
      state = nextState;
      await value.item();
      value.dispose();
    }
  };
  await run(2);
  return { run: (steps) => seconds(() => run(steps)) };
}
