export type { FileSystem, ReadableFile, WritableFile } from "./file-system.ts";
export { type LocalStoreOptions, localStore } from "./local-store.ts";
export type { Processes, ProcessIdentity } from "./lock.ts";
export { memoryStore } from "./memory-store.ts";
export type {
  CheckpointStore,
  CheckpointWriter,
  FileRecord,
  FileWriter,
  StoredCheckpoint,
  StoredFile,
  StoreLock,
} from "./store.ts";
