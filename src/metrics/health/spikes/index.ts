/** Losses that stand out: the loss-spike detector. */
export { lossSpikeDetector } from "./loss-spike-detector.ts";
export type { LossSpike, LossSpikeOptions } from "./options.ts";
