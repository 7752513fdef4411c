import { type EngineName, np, put, type Value } from "../engine/index.ts";
import type { Params } from "../nn/index.ts";
import { type Counters, noCounters, type Ramp } from "../schedule/index.ts";
import type { Loss } from "./loss.ts";

/** A batch of a line to fit. */
export interface Points<T = Value> {
  readonly x: T;
  readonly y: T;
}

export const line = (params: Params, batch: Points): Value =>
  np.add(np.matmul(batch.x, params.w as Value), params.b as Value);

export const fit: Loss<Points, Value> = {
  name: "fit",
  term: ({ outputs, batch }) => ({ loss: np.mean(np.square(outputs.sub(batch.y))) }),
};

export const small: Loss<Points, Value> = {
  name: "small",
  weight: 0.5,
  term: ({ outputs }) => ({
    loss: np.mean(np.absolute(outputs)),
    metrics: { largest: np.max(np.absolute(outputs)) },
  }),
};

/** x w + b is [0.5, 2.5, -1]; its distances to y are [-0.5, 0.5, -2]. */
export const start = (engine: EngineName) => ({
  params: { w: put([1, -1], { engine }), b: put(0.5, { engine }) },
  batch: {
    x: put(
      [
        [1, 1],
        [2, 0],
        [0.5, 2],
      ],
      { engine },
    ),
    y: put([1, 2, 1], { engine }),
  },
});

export const counters = (some: Partial<Counters>): Counters => ({ ...noCounters, ...some }) as Counters;

/** In an epoch, so many batches of 32 into a run with ten in each. */
export const inEpoch = (epoch: number, batch = 0): Counters => {
  const batches = 10 * epoch + batch;
  return counters({ epoch, epochs: epoch, batches, updates: batches, samples: 32 * batches });
};

export const ramp = (at: (counters: Counters) => number): Ramp => ({ at, describe: () => "a ramp" });
