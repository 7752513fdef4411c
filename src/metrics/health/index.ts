/** Whether a run is well: its gradients, its losses, whether it is alive, whether it hangs. */
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
export {
  type Heartbeat,
  heartbeat,
  heartbeatHook,
  isAlive,
  readHeartbeat,
} from "./heartbeat.ts";
export { lossSpikeDetector } from "./loss-spike-detector.ts";
export { type RollbackOptions, rollbackHook } from "./rollback.ts";
export { watchdogHook } from "./watchdog.ts";
