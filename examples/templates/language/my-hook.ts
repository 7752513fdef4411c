import { every, type TrainerHook } from "espalier";

/** Ends the run once an epoch makes the validation loss less than `least` times better. */
export function stopWhenFlat({ least = 1.01 }: { readonly least?: number } = {}): TrainerHook {
  const state = { best: Number.POSITIVE_INFINITY };
  return {
    name: "stop when flat",
    schedule: every({ epochs: 1 }),
    state, // saved in checkpoints, so that a resumed run knows it
    onValidationEnd({ state: run, stop }) {
      const loss = run.validation?.loss;
      if (loss === undefined) return;
      const flat = state.best / loss < least;
      state.best = Math.min(state.best, loss);
      if (flat) stop(`the validation loss stays at ${loss.toFixed(3)}`);
    },
  };
}
