/** Environments around environments. */
export { type ClipOptions, clipActions, clipObservations, clipRewards } from "./clip.ts";
export { type FrameStackOptions, frameStack } from "./frame-stack.ts";
export { maskActions } from "./mask-actions.ts";
export { type NormalizeOptions, normalizeObservations } from "./normalize-observations.ts";
export { type NormalizeRewardsOptions, normalizeRewards } from "./normalize-rewards.ts";
export { timeLimit } from "./time-limit.ts";
export { type Wrapping, wrap } from "./wrap.ts";
