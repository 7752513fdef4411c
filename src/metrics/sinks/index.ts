/** Places where metrics go, one file or folder each, behind one contract. */
export { consoleSink } from "./console/console-sink.ts";
export { csvSink } from "./csv.ts";
export type { DeliveryLimits, SinkSummary } from "./delivery/delivery.ts";
export { jsonlSink } from "./jsonl.ts";
export { logFileSink } from "./log-file.ts";
export { mlflowSink } from "./mlflow.ts";
export { prometheusSink } from "./prometheus.ts";
export type { Sink, SinkOptions } from "./sink.ts";
export { statsStoreSink } from "./stats-store.ts";
export { tensorBoardSink } from "./tensorboard/sink.ts";
export { wandbArtifact } from "./wandb/artifact.ts";
export { wandbSink } from "./wandb/sink.ts";
