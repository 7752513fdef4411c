/** Suites that users run on their own parts. */
export type { ConformanceCase } from "./conformance.ts";
export { checkCompiledEnvironment } from "./environments/check-compiled.ts";
export { checkEnvironment, environmentFaults } from "./environments/check-environment.ts";
export { checkIdempotent, hookContext } from "./hooks/lone.ts";
export { failing, orderOf, ran, type Simulation, simulate } from "./hooks/simulate.ts";
export type { SinkCheck } from "./sinks/bench.ts";
export type { HeldValue } from "./sinks/check-sink.ts";
export { checkSink } from "./sinks/check-sink.ts";
export { metricRecord } from "./sinks/records.ts";
export { checkStore } from "./stores/check-store.ts";
