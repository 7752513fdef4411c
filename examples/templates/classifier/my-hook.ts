import { every, type TrainerHook } from "espalier";

/** Warns once where the accuracy of the validation is still below `least` after some epochs. */
export function warnWhenPoor({
  least = 0.6,
  after = 10,
}: {
  readonly least?: number;
  readonly after?: number;
} = {}): TrainerHook {
  let warned = false;
  return {
    name: "warn when poor",
    schedule: every({ epochs: 1 }),
    onValidationEnd({ state, counters, log, warn }) {
      const accuracy = state.validation?.accuracy;
      if (accuracy === undefined) return;
      log({ "accuracy.missing": Math.max(0, least - accuracy) });
      if (warned || accuracy >= least || counters.epoch < after) return;
      warned = true;
      warn(`the accuracy is ${accuracy.toFixed(2)} after ${counters.epoch} epochs, below ${least}`);
    },
  };
}
