export type { FileSystem, ReadableFile, WritableFile } from "./file-system.ts";
export { type LocalStoreOptions, localStore } from "./local-store.ts";
export type { Processes, ProcessIdentity } from "./processes.ts";
