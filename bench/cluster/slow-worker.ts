import { cartPole, type Environment } from "../../src/doors/rl.ts";
import { environmentRollouts, RolloutWorker, type WorkerStart } from "../../src/doors/rollout.ts";

const still = new Int32Array(new SharedArrayBuffer(4));

/** CartPole whose every step takes a millisecond in which nothing is computed, so that two cores can have four workers. */
function slowCartPole(): Environment {
  const inner = cartPole();
  return {
    ...{ name: inner.name, observationSpace: inner.observationSpace, actionSpace: inner.actionSpace },
    reset: (options) => inner.reset(options),
    step: (action) => {
      Atomics.wait(still, 0, 0, 1);
      return inner.step(action as never);
    },
    getState: () => inner.getState(),
    setState: (state) => inner.setState(state),
  };
}

/** What the trainer and its workers agree on, and the frames of a rollout. */
export const game = { env: slowCartPole } as const;
export const frames = 8 * 32;

export const worker = ({ name, link }: WorkerStart) =>
  new RolloutWorker({
    ...{ name, link, defaultHooks: false },
    generator: environmentRollouts({ ...game, count: 8, steps: 32, engine: "wasm" }),
  });
