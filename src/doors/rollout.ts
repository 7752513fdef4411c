/** Rollout workers, the transport to their trainer, and training from their rollouts. */
export type {
  NamedArrays,
  Rollout,
  RolloutGenerator,
  RolloutSink,
  Transport,
  WeightSource,
  Weights,
  WorkerLink,
} from "../rollout/index.ts";
