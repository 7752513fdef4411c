import { adamFigure } from "./engine/adam.ts";
import { emptyCalls } from "./engine/empty.ts";
import { endurance } from "./engine/endurance.ts";
import { fusedSteps } from "./engine/fused.ts";
import { lowering } from "./engine/lowering.ts";
import { lstmGradient } from "./engine/lstm.ts";
import { nets } from "./engine/nets.ts";
import type { Figure } from "./harness/figure.ts";

/** What the engines must reach: against JAX, PyTorch and jax-js by themselves. */
export const figures: readonly Figure[] = [
  ...nets.map((net) =>
    adamFigure(net, "xla", { jax: "jax_engine.py", torch: "torch_engine.py" }, [
      { kind: "ratio", against: "jax", atMost: 1.25 },
      { kind: "ratio", against: "torch", below: 1 },
    ]),
  ),
  fusedSteps,
  lstmGradient,
  ...emptyCalls,
  lowering,
  ...endurance,
  ...nets.map((net) =>
    adamFigure(net, "wasm", { jaxjs: "jaxjs_engine.ts" }, [{ kind: "ratio", against: "jaxjs", atMost: 1.1 }]),
  ),
];
