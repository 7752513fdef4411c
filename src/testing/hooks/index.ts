/** The hook test kit: contexts, scripted runs, injected failures. Plain values to assert on with any test runner. */
export { type HookContextOptions, hookContext, type LoneContext } from "./context.ts";
export { failing, type InjectedFailure } from "./failing.ts";
export { checkIdempotent, type IdempotenceOptions, type IdempotenceReport } from "./idempotent.ts";
export { orderOf, ran } from "./ran.ts";
export type { Logged, RecordedCall } from "./recorded.ts";
export type { Script } from "./script.ts";
export { type Simulation, type SimulationOptions, simulate } from "./simulate.ts";
