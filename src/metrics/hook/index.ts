/** The hook that hands what happens in a run to its logger and its stats store. */
export { type MachineProbe, type MachineReading, SystemProbe } from "./machine.ts";
export { metricsHook } from "./metrics-hook.ts";
export type { LookOptions, MetricsHookOptions } from "./options.ts";
export { profilerHook } from "./profiler-hook.ts";
export type { ProfilerHookOptions } from "./profiler-options.ts";
export { progressHook, withProgress } from "./progress-hook.ts";
