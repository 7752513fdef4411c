export type { SinkCheck } from "./bench.ts";
export { checkSink } from "./check-sink.ts";
export type { HeldValue, SinkKeeps } from "./held.ts";
export { metricRecord } from "./records.ts";
