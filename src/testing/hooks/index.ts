/** The hook test kit: contexts, scripted runs, injected failures. Plain values to assert on with any test runner. */
export {
  checkIdempotent,
  type HookContextOptions,
  hookContext,
  type IdempotenceOptions,
  type IdempotenceReport,
  type LoneContext,
} from "./lone.ts";
export type { Logged, RecordedCall, Script } from "./simulate.ts";
export {
  failing,
  type InjectedFailure,
  orderOf,
  ran,
  type Simulation,
  type SimulationOptions,
  simulate,
} from "./simulate.ts";
