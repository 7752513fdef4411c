import type { Loader } from "../data/index.ts";
import type { Setting, Settings } from "../trainer/index.ts";
import type { Objective } from "./objective.ts";
import type { SupervisedOptions } from "./task-options.ts";

/**
 * What of a task's set-up decides the bits that training gives, as far as plain values tell it. What functions do, a
 * model's dropout or a loss of one's own, cannot be compared; the shapes of parameters are, by whoever restores them.
 */
export function taskSettings(
  options: SupervisedOptions<never, never, unknown>,
  { loader, objective }: { readonly loader: Loader; readonly objective: Objective },
): Settings {
  const { batchSize, accumulate = 1, lastBatch = "keep", optimizer, seed } = options;
  return {
    batchSize,
    accumulate,
    lastBatch,
    shuffle: loader.shuffle,
    examples: loader.length,
    losses: objective.settings,
    optimizer: { kind: optimizer.kind, rates: optimizer.rates as Setting },
    ...(seed !== undefined && { seed }),
    ...(options.deterministic !== undefined && { deterministic: options.deterministic }),
  };
}
