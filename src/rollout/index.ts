/** Rollout workers: experience is made apart from the trainer. Head: worker.ts. */
export { packArrays, unpackArrays } from "./array-bytes.ts";
export * from "./environments.ts";
export * from "./hooks.ts";
export { makeWorker } from "./process-main.ts";
export * from "./processes.ts";
export type { ReplayCounts } from "./replay.ts";
export * from "./rollout.ts";
export * from "./task.ts";
export * from "./text.ts";
export * from "./transport.ts";
export * from "./worker.ts";
