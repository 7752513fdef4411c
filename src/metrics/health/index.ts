/** The health of a run: gradients, losses, signs of life, hangs; and control from outside. */
export {
  type ControlAction,
  type ControlRecord,
  type ControlRequest,
  type ControlState,
  controlJournal,
  putRequest,
} from "./control.ts";
export { type ControlHookOptions, controlHook } from "./control-hook.ts";
export { gradientMonitor } from "./gradient-monitor.ts";
export { type Heartbeat, heartbeat, heartbeatHook, isAlive, readHeartbeat } from "./heartbeat.ts";
export { lossSpikeDetector } from "./loss-spike-detector.ts";
export { type RollbackOptions, rollbackHook } from "./rollback.ts";
export { watchdogHook } from "./watchdog.ts";
