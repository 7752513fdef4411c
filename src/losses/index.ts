/** Losses: terms, when they are active, and one compiled objective per active set. Head: objective.ts. */
export { type Evaluate, type Evaluation, shareName, weightName } from "./evaluate.ts";
export {
  asLoss,
  type Field,
  type Loss,
  type LossFunction,
  type LossInputs,
  type LossPhase,
  type LossTerm,
  type Named,
} from "./loss.ts";
export { type Objective, type ObjectiveOptions, objective } from "./objective.ts";
