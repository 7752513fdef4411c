export type { CheckpointEntry } from "./catalog.ts";
export { Checkpoint } from "./checkpoint.ts";
export { CheckpointManager } from "./manager.ts";
export type { CheckpointManagerOptions, SavedCheckpoint } from "./options.ts";
export type { RestoreMode, RestoreOptions } from "./restore.ts";
export type { Keep } from "./retention.ts";
export type { CheckpointMetadata } from "./save.ts";
export { type Snapshot, snapshot, snapshotOf } from "./snapshot.ts";
