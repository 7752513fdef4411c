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
  runEvaluator,
  startNatsServer,
} from "../cluster/index.ts";
