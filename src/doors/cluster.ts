/** Past one machine: workers, evaluators and ranks over a NATS server. */
export {
  type Broker,
  type NatsEvaluationsOptions,
  type NatsLinkOptions,
  type NatsOptions,
  type NatsServer,
  type NatsServerOptions,
  type NatsTransportOptions,
  natsBroker,
  natsEvaluations,
  natsLink,
  natsTransport,
  type Ranks,
  type RanksOptions,
  runEvaluator,
  startNatsServer,
  trainOnRanks,
} from "../cluster/index.ts";
