/** Whether a run is well: its gradients, its losses, whether it is alive, whether it hangs. */
export { type Ailment, type GradientMonitorOptions, gradientMonitor } from "./gradients/index.ts";
export {
  type AliveOptions,
  type Heartbeat,
  type HeartbeatHookOptions,
  type HeartbeatOptions,
  heartbeat,
  heartbeatHook,
  isAlive,
  readHeartbeat,
} from "./heartbeat/index.ts";
export { type LossSpike, type LossSpikeOptions, lossSpikeDetector } from "./spikes/index.ts";
export {
  type WatchdogOptions,
  type WatchdogReport,
  type WatchedPhase,
  watchdogHook,
} from "./watchdog/index.ts";
