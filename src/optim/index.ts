/** Optimizers and what is put around them, as pairs of pure functions {init, update}. */
export { type AdafactorOptions, adafactor } from "./adafactor.ts";
export { type AdamOptions, type AdamwOptions, adam, adamw } from "./adam.ts";
export { applyUpdates } from "./apply.ts";
export { chain } from "./chain.ts";
export { clip, clipByGlobalNorm, globalNorm } from "./clip.ts";
export { type EmaOptions, ema } from "./ema.ts";
export { freeze } from "./freeze.ts";
export { groups } from "./groups.ts";
export { type LionOptions, lion } from "./lion.ts";
export { type MuonOptions, muon } from "./muon.ts";
export type { Optimizer, OptimizerState, Rates, Update } from "./optimizer.ts";
export type { Mask } from "./paths.ts";
export { type RmspropOptions, rmsprop } from "./rmsprop.ts";
export { addDecayedWeights, type DecayOptions, scale, scaleByRate } from "./scale.ts";
export { type SgdOptions, sgd } from "./sgd.ts";
export { skipNonFinite } from "./skip-non-finite.ts";
export { treeIn, valueIn } from "./state-parts.ts";
