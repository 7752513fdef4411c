import { EspalierError, every } from "espalier";

/**
 * Ends the run when a metric of the validation has reached a target.
 *
 * @param {import("./hook.d.ts").TargetOptions} options
 * @returns {import("espalier").TrainerHook}
 */
export function stopAtTarget({ metric = "loss", target }) {
  if (typeof target !== "number")
    throw new EspalierError("OPTION_INVALID", `stopAtTarget: target is ${target}`, {
      fix: "give a number: { metric: accuracy, target: 0.9 }",
    });
  const isReached = metric === "loss" ? (value) => value <= target : (value) => value >= target;
  return {
    name: "stop at target",
    schedule: every({ epochs: 1 }),
    onValidationEnd({ state, stop }) {
      const value = state.validation?.[metric];
      if (value !== undefined && isReached(value)) stop(`${metric} is ${value}`);
    },
  };
}
