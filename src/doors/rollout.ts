/** Rollout workers, the transport to their trainer, and training from their rollouts. */
export {
  type InProcessTransport,
  inProcessTransport,
  type NamedArrays,
  type Rollout,
  type RolloutGenerator,
  type RolloutSink,
  type Transport,
  type WeightSource,
  type Weights,
  type WorkerLink,
} from "../rollout/index.ts";
