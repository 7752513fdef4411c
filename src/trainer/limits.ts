import type { Counters } from "../schedule/index.ts";
import type { TrainingConfig } from "./config.ts";

/** The limit that has been reached, in words. */
export function limitReached(config: TrainingConfig, counters: Counters): string | undefined {
  if (counters.updates >= config.maxUpdates) return `maxUpdates of ${config.maxUpdates} reached`;
  if (counters.samples >= config.maxSamples) return `maxSamples of ${config.maxSamples} reached`;
  if (counters.seconds >= config.maxSeconds) return `maxSeconds of ${config.maxSeconds} reached`;
  return undefined;
}

/** How many repeats may be done until a limit is reached: 1 to most. Seconds are looked at after each call. */
export function untilLimit(
  config: TrainingConfig,
  at: Counters,
  adds: Readonly<Record<string, number>>,
  most: number,
): number {
  const updates = (config.maxUpdates - at.updates) / (adds.updates ?? 0);
  const samples = (config.maxSamples - at.samples) / (adds.samples ?? 0);
  return Math.max(1, Math.min(most, Math.ceil(updates), Math.ceil(samples)));
}
