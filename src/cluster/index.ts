/** Past one machine: rollout workers, evaluators and ranks over a message server. Head: transport.ts. */
export type { Broker } from "./broker.ts";
export { type NatsEvaluationsOptions, natsEvaluations } from "./evaluations.ts";
export { type EvaluatorEvent, type EvaluatorOptions, runEvaluator } from "./evaluator.ts";
export {
  awaitRun,
  forgetRun,
  listMembers,
  listRuns,
  type Member,
  Membership,
  type RunDescription,
  type RunStatus,
  readStatus,
} from "./members.ts";
export { type NatsOptions, natsBroker } from "./nats.ts";
export type { Ranks } from "./rank-group.ts";
export { type RanksOptions, trainOnRanks } from "./ranks.ts";
export {
  findNatsServer,
  installNatsServer,
  type NatsServer,
  type NatsServerOptions,
  serverIn,
  startNatsServer,
} from "./server.ts";
export {
  type NatsLinkOptions,
  type NatsTransportOptions,
  natsLink,
  natsTransport,
} from "./transport.ts";
export { memberName, moduleUrl, runClusterWorker, workerModule } from "./worker.ts";
