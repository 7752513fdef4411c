import type { Figure } from "./harness/figure.ts";
import { figures as onCpu } from "./parts.ts";

/** The same models on a GPU; see engine-gpu.ts for what the machine must have. */
export const figures: readonly Figure[] = onCpu.map((figure) => ({
  ...figure,
  bars: [{ kind: "ratio", against: "jax", atMost: 1.1 }],
}));
