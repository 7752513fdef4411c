export type { SinkCheck } from "./bench.ts";
export type { HeldValue, SinkKeeps } from "./check-sink.ts";
export { checkSink } from "./check-sink.ts";
export { metricRecord } from "./records.ts";
