/** What notices that a run hangs. */
export type { WatchdogOptions, WatchedPhase } from "./options.ts";
export type { WatchdogReport } from "./report.ts";
export { watchdogHook } from "./watchdog-hook.ts";
