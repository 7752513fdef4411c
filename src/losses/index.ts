/** Losses: terms, when they are active, and one compiled objective per active set. */
export type { LossPhase } from "./activity.ts";
export { asLoss, type LossFunction } from "./as-loss.ts";
export type { Objective, ObjectiveOptions } from "./contract.ts";
export type { RolloutInputs } from "./fields.ts";
export type { Field, Loss, LossInputs, LossTerm, Named } from "./loss.ts";
export { objective } from "./objective.ts";
export type { Evaluate, Evaluation } from "./sum.ts";
