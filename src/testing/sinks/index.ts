export type { SinkCheck } from "./bench.ts";
export type { HeldValue } from "./check-sink.ts";
export { checkSink } from "./check-sink.ts";
export { metricRecord } from "./records.ts";
