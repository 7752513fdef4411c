/** A kit to test hooks, and conformance suites for environments, sinks, stores and engines of your own. */
export { type Clock, type ManualClock, manualClock, systemClock } from "../core/index.ts";
export {
  type ConformanceCase,
  checkCompiledEnvironment,
  checkEnvironment,
  checkIdempotent,
  checkSink,
  checkStore,
  environmentFaults,
  failing,
  hookContext,
  metricRecord,
  orderOf,
  ran,
  type Simulation,
  simulate,
} from "../testing/index.ts";
