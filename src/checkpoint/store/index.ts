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
