/** Whether a run is well: its gradients, its losses, whether it is alive, whether it hangs. */
export type { ControlAction, ControlRecord, ControlRequest, ControlState } from "./control.ts";
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
