/** Past one machine: workers, evaluators and ranks over a NATS server. */
export {
  type NatsLinkOptions,
  type NatsOptions,
  type NatsTransportOptions,
  natsLink,
  natsTransport,
} from "../cluster/index.ts";
