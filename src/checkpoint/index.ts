/** Files: safetensors, manifests, stores, the manager that saves and restores components, and the hook that uses it. */
export { Checkpoint, type CheckpointEntry, type PartedStore } from "./checkpoint.ts";
export type { ComputedBy } from "./computed-by.ts";
export {
  type CheckpointHookOptions,
  checkpointHook,
  isCheckpointHook,
  type Publication,
  type SaveEvent,
} from "./hook/checkpoint-hook.ts";
export { openCheckpoint, type ResumeOptions, resumeTrainer } from "./hook/open-checkpoint.ts";
export type { Json } from "./json.ts";
export { CheckpointManager, type CheckpointManagerOptions, type SavedCheckpoint } from "./manager.ts";
export { type ComponentRecord, filedMetrics, type Manifest } from "./manifest.ts";
export { anyRanksStore } from "./ranks/ranked-store.ts";
export { type SavedLeaf, savedLeaves } from "./read-component.ts";
export type { RestoreMode, RestoreOptions } from "./restore.ts";
export type { Keep } from "./retention.ts";
export type { Header } from "./safetensors/header.ts";
export { encodeSafetensors, type HostTensor, readHeader, readTensor } from "./safetensors/tensors.ts";
export type { CheckpointMetadata } from "./save.ts";
export { type Snapshot, snapshot, snapshotOf } from "./snapshot.ts";
export type { FileSystem, ReadableFile, WritableFile } from "./store/file-system.ts";
export { type LocalStoreOptions, localStore } from "./store/local-store.ts";
export type { Processes, ProcessIdentity } from "./store/lock.ts";
export { memoryStore } from "./store/memory-store.ts";
export type {
  CheckpointStore,
  CheckpointWriter,
  FileRecord,
  FileWriter,
  StoredCheckpoint,
  StoredFile,
  StoreLock,
} from "./store/store.ts";
