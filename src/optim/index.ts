/** Optimizers and what is put around them, as pairs of pure functions {init, update}. */
export { type AdafactorOptions, adafactor } from "./adafactor.ts";
export { type AdamOptions, type AdamwOptions, adam, adamw } from "./adam.ts";
export { chain } from "./chain.ts";
export { freeze, groups } from "./groups.ts";
export type { Mask } from "./leaves.ts";
export { type LionOptions, lion } from "./lion.ts";
export { type MuonOptions, muon } from "./muon.ts";
export {
  applyUpdates,
  findValue,
  type Optimizer,
  type OptimizerState,
  type Rates,
  treeIn,
  type Update,
  valueIn,
} from "./optimizer.ts";
export { type RmspropOptions, rmsprop } from "./rmsprop.ts";
export { type SgdOptions, sgd } from "./sgd.ts";
export {
  addDecayedWeights,
  clip,
  clipByGlobalNorm,
  type DecayOptions,
  type EmaOptions,
  ema,
  globalNorm,
  scale,
  scaleByRate,
  skipNonFinite,
} from "./transforms.ts";
