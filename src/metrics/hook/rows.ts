import type { Tensor } from "../../engine/index.ts";
import type { Phase, Values } from "../../trainer/index.ts";
import type { OwnedLogger } from "../logger/index.ts";

/**
 * Hands all rows of a stretch to the logger, unread: what batches gave as `train`, what rollouts gave as `rollout`.
 * Of updates that the optimizer may leave out, `applied` says which took effect; its mean is their share.
 */
export function logStretch(values: Values, logger: OwnedLogger): void {
  // Of a call with both, rollouts come second: filed late, under their own steps, they disturb no window of batches.
  for (const phase of ["train", "rollout"] as const) {
    const found = valuesOf(values, phase);
    const [name] = Object.keys(found);
    if (name === undefined) continue;
    const { applied } = values;
    const stack = phase === "train" && applied ? { applied, ...found } : found;
    logger.logRows({ values: stack, rows: values.rows(name), at: (row) => values.at(name, row) }, phase);
  }
}

function valuesOf(values: Values, phase: Phase): Readonly<Record<string, Tensor>> {
  const found: Record<string, Tensor> = {};
  for (const name of values.names) {
    const tensor = values.phase(name) === phase ? values.tensor(name) : undefined;
    if (tensor) found[name] = tensor;
  }
  return found;
}
