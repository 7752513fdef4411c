/** Whether a run is well: its gradients, its losses, whether it is alive, whether it hangs. */
export { type Ailment, type GradientMonitorOptions, gradientMonitor } from "./gradient-monitor.ts";
export {
  type AliveOptions,
  type Heartbeat,
  type HeartbeatHookOptions,
  type HeartbeatOptions,
  heartbeat,
  heartbeatHook,
  isAlive,
  readHeartbeat,
} from "./heartbeat.ts";
export { type LossSpike, type LossSpikeOptions, lossSpikeDetector } from "./loss-spike-detector.ts";
export { type WatchdogOptions, type WatchedPhase, watchdogHook } from "./watchdog.ts";
export type { WatchdogReport } from "./watchdog-thread.ts";
