// The worker of a process, in a module of its own: see ../18-impala.ts. Each process imports it and calls `worker`.
import { environmentRollouts, RolloutWorker, type WorkerStart } from "espalier/rollout";

/** What the trainer and its workers must agree on. */
export const game = { env: "CartPole-v1", policy: { encoder: { kind: "mlp", hidden: [64, 64] } } } as const;

/** Eight poles, of which each rollout has 32 steps: 256 frames. */
export const rollouts = () => environmentRollouts({ ...game, count: 8, steps: 32 });

export const worker = ({ name, link, options: { seed } }: WorkerStart<{ readonly seed: number }>) =>
  // The example evaluates at its end, so the worker does not.
  new RolloutWorker({ name, link, seed, generator: rollouts(), defaultHooks: false });
