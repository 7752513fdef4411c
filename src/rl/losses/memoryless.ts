import { EspalierError, treeMap } from "../../core/index.ts";
import { np, type Tensor, type Value } from "../../engine/index.ts";
import type { Params } from "../../nn/index.ts";
import type { Policy, PolicyOutput } from "../policies/policy.ts";

/** Refuses a policy that remembers: a batch's rows are not in the order it would need. */
export function checkForgets(kind: string, what: string, policy: Policy): void {
  if (policy.recurrent)
    throw new EspalierError(
      "POLICY_RECURRENT",
      `${kind}: ${what} remembers (${policy.spec.memory?.kind ?? "memory"}), and rows of a batch have no past`,
      { fix: `give ${what} without memory` },
    );
}

/** What a policy without memory gives for observations. */
export function atOnce(policy: Policy, params: Params, observation: Value, mask?: Value): PolicyOutput {
  const [rows = 0] = observation.shape;
  return policy.step(params, {
    observation,
    state: {},
    reset: np.zeros([rows], { dtype: "bool" }),
    ...(mask && { mask }),
  });
}

/** Parameters from outside as values: inputs of the program that is being traced. */
export const captured = (params: Params<Tensor>): Params =>
  treeMap((tensor: Tensor) => np.array(tensor), params) as unknown as Params;
