/** Metrics of a run: the logger and its sinks, the stats store, monitors and health. Read logger/logger.ts first. */
export * from "./health/index.ts";
export * from "./hook/index.ts";
export * from "./logger/index.ts";
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
export * from "./sinks/index.ts";
export * from "./store/index.ts";
