/** Hooks that log what happens in a run. */
export { type MachineProbe, SystemProbe } from "./meters.ts";
export { type MetricsHookOptions, metricsHook } from "./metrics-hook.ts";
export { profilerHook } from "./profiler-hook.ts";
export { progressHook, withProgress } from "./progress-hook.ts";
export { newRunId } from "./run-recorder.ts";
