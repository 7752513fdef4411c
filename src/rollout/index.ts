/** Rollout workers: experience is made apart from the trainer. Head: worker.ts. */
export type {
  GeneratorRequest,
  LessonScores,
  NamedArrays,
  Rollout,
  RolloutGenerator,
  RolloutSink,
  ShapedArray,
  Transport,
  TransportStats,
  WeightSource,
  Weights,
  WorkerLink,
} from "./rollout.ts";
export { type InProcessTransport, inProcessTransport } from "./transport.ts";
