/** Metrics of a run: the logger and its sinks, the stats store, monitors and health. Read logger/logger.ts first. */

export {
  type ControlAction,
  type ControlRecord,
  type ControlRequest,
  type ControlState,
  controlJournal,
  putRequest,
} from "./health/control.ts";
export { type ControlHookOptions, controlHook } from "./health/control-hook.ts";
export { gradientMonitor } from "./health/gradient-monitor.ts";
export { type Heartbeat, heartbeat, heartbeatHook, isAlive, readHeartbeat } from "./health/heartbeat.ts";
export { lossSpikeDetector } from "./health/loss-spike-detector.ts";
export { type RollbackOptions, rollbackHook } from "./health/rollback.ts";
export { watchdogHook } from "./health/watchdog.ts";
export { type MachineProbe, SystemProbe } from "./hook/meters.ts";
export { type MetricsHookOptions, metricsHook } from "./hook/metrics-hook.ts";
export { profilerHook } from "./hook/profiler-hook.ts";
export { progressHook, withProgress } from "./hook/progress-hook.ts";
export { newRunId } from "./hook/run-recorder.ts";
export {
  type LoggedValues,
  Logger,
  type LoggerOptions,
  type OwnedLogger,
  SmartLogger,
} from "./logger/logger.ts";
export type { LoggedValue } from "./logger/series.ts";
export { declareMetric, type MetricDeclaration } from "./metric.ts";
export {
  type Histogram,
  isHistogram,
  isScalar,
  isText,
  type MetricRecord,
  type Reduction,
} from "./record.ts";
export type { RunEnding, RunInfo } from "./run-info.ts";
export { consoleSink } from "./sinks/console/console-sink.ts";
export { csvSink } from "./sinks/csv.ts";
export type { DeliveryLimits, SinkSummary } from "./sinks/delivery/delivery.ts";
export { jsonlSink } from "./sinks/jsonl.ts";
export { logFileSink } from "./sinks/log-file.ts";
export { mlflowSink } from "./sinks/mlflow.ts";
export { prometheusSink } from "./sinks/prometheus.ts";
export type { Sink, SinkOptions } from "./sinks/sink.ts";
export { statsStoreSink } from "./sinks/stats-store.ts";
export { tensorBoardSink } from "./sinks/tensorboard/sink.ts";
export { wandbArtifact } from "./sinks/wandb/artifact.ts";
export { wandbSink } from "./sinks/wandb/sink.ts";
export * from "./store/stats-store.ts";
export { type HookDecisions, readWhy } from "./store/why.ts";
