import { every, type TrainerHook } from "espalier";

/** Warns once where the accuracy of the validation is still below `least` after some epochs. */
export function warnWhenPoor({
  least = 0.6,
  after = 10,
}: {
  readonly least?: number;
  readonly after?: number;
} = {}): TrainerHook {
  let warn: (text: string) => void = () => {};
  let warned = false;
  return {
    name: "warn when poor",
    schedule: every({ epochs: 1 }),
    onRegister(host) {
      warn = host.warn;
    },
    onValidationEnd({ state, counters, log }) {
      const accuracy = state.validation?.accuracy;
      if (accuracy === undefined) return;
      log({ "accuracy.missing": Math.max(0, least - accuracy) });
      const epochs = counters.epoch + 1; // this one is at its end
      if (warned || accuracy >= least || epochs < after) return;
      warned = true;
      warn(`the accuracy is ${accuracy.toFixed(2)} after ${epochs} epochs, below ${least}`);
    },
  };
}
