import type { Tensor } from "../../engine/index.ts";
import type { Counters } from "../../schedule/index.ts";
import type { Phase, Values } from "../../trainer/index.ts";
import type { OwnedLogger } from "../logger/index.ts";

/**
 * Hands all rows of a stretch to the logger, unread: what batches gave as `train`, what rollouts gave as `rollout`.
 * Of updates that the optimizer may leave out, `applied` says which took effect; its mean is their share. A rollout in
 * which there was nothing to measure, because no episode ended, gives NaN, which is not logged.
 *
 * The task's ramps go beside the batches' values, each under its own name and as the program was given it: of a window
 * the last. One that the task reports itself is not logged twice.
 */
export function logStretch(values: Values, logger: OwnedLogger): void {
  const { applied, ramps } = values;
  const batches = { ...(applied && { applied }), ...valuesOf(values, "train") };
  const inUse = Object.entries(ramps).filter(([name]) => !Object.hasOwn(batches, name));
  const train = { ...batches, ...Object.fromEntries(inUse) };
  const rollout = valuesOf(values, "rollout");
  const reductions = Object.fromEntries(inUse.map(([name]) => [name, "last"] as const));
  for (const { phase, from, rows } of values.spans) {
    const name = values.names.find((each) => values.phase(each) === phase);
    if (name === undefined) continue;
    const at = (row: number): Counters => values.at(name, from + row);
    if (phase === "train") logger.logRows({ values: train, rows, from, at, reductions }, phase);
    else logger.logRows({ values: rollout, rows, from, at, nanIsNone: true }, phase);
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
