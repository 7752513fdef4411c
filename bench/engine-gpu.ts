import { adamFigure } from "./engine/adam.ts";
import { gpuNets } from "./engine/nets.ts";
import type { Figure } from "./harness/figure.ts";

/**
 * The nets on a GPU, against JAX on the same one. ESPALIER_XLA_PLUGIN names a CUDA plugin where it is not the first
 * one found, and ESPALIER_BENCH_PYTHON a Python whose JAX has CUDA.
 */
export const figures: readonly Figure[] = gpuNets.map((net) =>
  adamFigure(net, "xla", { jax: "jax_engine.py" }, [{ kind: "ratio", against: "jax", atMost: 1.1 }]),
);
