/** What tells others that a run is alive. */
export { type Heartbeat, type HeartbeatOptions, heartbeat } from "./heartbeat.ts";
export { type HeartbeatHookOptions, heartbeatHook } from "./heartbeat-hook.ts";
export { type AliveOptions, isAlive, readHeartbeat } from "./is-alive.ts";
