/** Places where metrics go, one file or folder each, behind one contract. */
export { type ConsoleOptions, consoleSink } from "./console/console-sink.ts";
export type { ConsoleStream } from "./console/stream.ts";
export { csvSink } from "./csv.ts";
export type { DeliveryLimits, SinkSummary } from "./delivery/delivery.ts";
export type { FileSinkOptions } from "./files.ts";
export { jsonlSink } from "./jsonl.ts";
export { type LogFileOptions, logFileSink } from "./log-file.ts";
export { type MlflowOptions, mlflowSink } from "./mlflow.ts";
export { type PrometheusOptions, type PrometheusSink, prometheusSink } from "./prometheus.ts";
export type { Sink, SinkOptions } from "./sink.ts";
export { statsStoreSink } from "./stats-store.ts";
export { type TensorBoardOptions, tensorBoardSink } from "./tensorboard/sink.ts";
export {
  type ArtifactContent,
  type ArtifactFile,
  type WandbArtifactOptions,
  wandbArtifact,
} from "./wandb/artifact.ts";
export { type WandbOptions, type WandbSink, type WandbSyncOutcome, wandbSink } from "./wandb/sink.ts";
