import type { TimedFigure } from "../harness/figure.ts";
import { inFreshProcess } from "../harness/fresh-process.ts";
import { sizes } from "./transformer.ts";

/** From the function to the text the compiler takes. Ours the first time in its process; JAX's has traced before. */
export const lowering: TimedFigure = {
  kind: "timed",
  name: "tracing and lowering a 12-layer transformer's training step",
  engine: "xla",
  unit: "s",
  steps: 1,
  ours: async () => ({ run: () => inFreshProcess<number>(new URL("./lower-once.ts", import.meta.url), []) }),
  peers: { jax: { script: "jax_engine.py", case: "lowering", params: sizes } },
  bars: [{ kind: "absolute", atMost: 1 }],
};
