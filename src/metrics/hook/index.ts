/** Hooks that log what happens in a run. */
export { type MachineProbe, type MachineReading, SystemProbe } from "./meters.ts";
export { type LookOptions, type MetricsHookOptions, metricsHook } from "./metrics-hook.ts";
export { type ProfilerHookOptions, profilerHook } from "./profiler-hook.ts";
export { progressHook, withProgress } from "./progress-hook.ts";
