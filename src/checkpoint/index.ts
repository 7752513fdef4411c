/** Files: safetensors, manifests, stores, the manager that saves and restores components, and the hook that uses it. */
export { Checkpoint, type OpenComponent, type PartedStore } from "./checkpoint.ts";
export {
  type BestCheckpointOptions,
  bestCheckpoint,
  type CheckpointHookOptions,
  checkpointHook,
  isCheckpointHook,
  type Publication,
} from "./hook/checkpoint-hook.ts";
export { openCheckpoint, type ResumeOptions, resumeTrainer } from "./hook/open-checkpoint.ts";
export {
  type InspectedCheckpoint,
  inspectCheckpoint,
  inspectStore,
  type ListedCheckpoint,
} from "./inspect.ts";
export type { Json } from "./json.ts";
export { CheckpointManager, type CheckpointManagerOptions, type SavedCheckpoint } from "./manager.ts";
export { filedMetrics, type Manifest } from "./manifest.ts";
export { anyRanksStore } from "./ranks/ranked-store.ts";
export { type SavedLeaf, savedLeaves } from "./read-component.ts";
export type { BestRule, Keep } from "./retention.ts";
export type { Header } from "./safetensors/header.ts";
export { encodeSafetensors, type HostTensor, readHeader, readTensor } from "./safetensors/tensors.ts";
export {
  type LoadWeightsOptions,
  loadWeights,
  saveWeights,
  setAt,
  withTensors,
} from "./safetensors/weights.ts";
export type { CheckpointMetadata } from "./save.ts";
export { type Snapshot, snapshot, snapshotOf } from "./snapshot.ts";
export { entryAt, isOnS3, isStoreAddress, storeAt, uriOf } from "./store/address.ts";
export { nodeFileSystem, putWhole, type ReadableFile } from "./store/file-system.ts";
export { localStore } from "./store/local-store.ts";
export { systemProcesses } from "./store/lock.ts";
export { memoryStore } from "./store/memory-store.ts";
export { readObject, type S3StoreOptions, s3Store, writeObject } from "./store/s3-store.ts";
export type {
  CheckpointStore,
  CheckpointWriter,
  FileWriter,
  StoredCheckpoint,
  StoredFile,
  StoreLock,
} from "./store/store.ts";
