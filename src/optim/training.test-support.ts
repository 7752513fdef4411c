import { compile, type EngineName, put, type Tensor, type Value } from "../engine/index.ts";
import { applyUpdates, type Optimizer, type OptimizerState, type Rates } from "./index.ts";

export type Params<T = Value> = { readonly [name: string]: T | Params<T> };

/** A small model's parameters, one of them -0. */
export const somePlaces = (engine: EngineName): Params<Tensor> => ({
  body: {
    w: put(
      [
        [1, -2, 0.5],
        [-0, 3, -1],
      ],
      { engine },
    ),
    b: put([0.1, 0.2, -0], { engine }),
  },
  head: { w: put([[2], [-1], [-0]], { engine }), b: put([0.3], { engine }) },
});

/** Gradients for them, the first of them as given. */
export const someGradients = (engine: EngineName, first = 1): Params<Tensor> => ({
  body: {
    w: put(
      [
        [first, 1, -1],
        [2, 0.5, 1],
      ],
      { engine },
    ),
    b: put([1, -1, 2], { engine }),
  },
  head: { w: put([[0.5], [1], [-2]], { engine }), b: put([3], { engine }) },
});

/** One step with given gradients, and the state to start with. */
export function training(optimizer: Optimizer, engine: EngineName) {
  const step = compile(
    (params: Params, state: OptimizerState, grads: Params, rates: Rates) => {
      const next = optimizer.update(grads, state, params, rates);
      return {
        params: applyUpdates(params, next.updates),
        state: next.state,
        updates: next.updates,
      };
    },
    { engine },
  );
  return { step, init: compile(optimizer.init, { engine }) };
}
