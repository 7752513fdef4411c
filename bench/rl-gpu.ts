import type { Figure } from "./harness/figure.ts";
import { trainingOf } from "./rl/cart-pole.ts";

const environments = 4096;
const updates = 8;

/**
 * Environments by the thousand on a GPU, against JAX on the same one. ESPALIER_XLA_PLUGIN names a CUDA plugin where it
 * is not the first one found, and ESPALIER_BENCH_PYTHON a Python whose JAX has CUDA; gymnax is used where it has it.
 */
export const figures: readonly Figure[] = [
  {
    kind: "timed",
    name: "PPO on CartPole at CleanRL's settings with 4,096 compiled environments",
    engine: "xla",
    unit: "frames/s",
    steps: updates * environments * 128,
    ours: () => trainingOf({ engine: "xla", compiled: true, environments }),
    peers: { jaxPpo: { script: "rl_jax.py", case: "training", params: { environments, updates } } },
    bars: [{ kind: "ratio", against: "jaxPpo", atLeast: 0.9 }],
  },
];
