import { answerCalls, node } from "../../core/index.ts";
import {
  type Commit,
  commitDirectory,
  type FileSystem,
  nodeFileSystem,
  type Renaming,
  removeDirectory,
} from "./file-system.ts";
import { type HashedReader, type HashedWriter, hashedReader, hashedWriter } from "./hashed.ts";

/** Memory by its address, and the module whose `view(address, bytes)` gives an ArrayBuffer of it. */
export interface MemoryAt {
  readonly viewer: string;
  readonly address: number;
  readonly bytes: number;
}

/** A call about a file, by a number that the caller gave it. */
export interface FileRequest {
  readonly file: number;
  readonly call: keyof FileCalls;
  readonly argument: unknown;
}

/** Calls after which a file is forgotten, and those that need to have failed for that. */
const last: readonly string[] = ["commit", "remove", "close", "abandon", "finish"];
const lastWhereFailed: readonly string[] = ["commit", "remove", "create", "open"];

/** The work of a file thread: writes, reads and hashes files, as file-threads.ts asks it to. */
export function runThread(): void {
  const files = new Map<number, FileCalls>();
  /** By file: the call under way and those that wait for it. Never rejects. */
  const turns = new Map<number, Promise<unknown>>();
  answerCalls(({ file, call, argument }: FileRequest) => {
    const calls = files.get(file) ?? fileCalls();
    files.set(file, calls);
    const act = calls[call] as (argument: unknown) => Promise<unknown>;
    const done = (turns.get(file) ?? Promise.resolve()).then(() => act(argument));
    const forgetAfter = (ends: readonly string[]) => (): void => {
      if (!ends.includes(call)) return;
      files.delete(file);
      turns.delete(file);
    };
    turns.set(file, done.then(forgetAfter(last), forgetAfter(lastWhereFailed)));
    return done;
  });
}

export type FileCalls = ReturnType<typeof fileCalls>;

/** The calls of a file thread for one file. They are done in the order in which they come. */
function fileCalls() {
  let writer: HashedWriter | undefined;
  let reader: HashedReader | undefined;
  return {
    commit: async (commit: Commit) => commitDirectory(blockingFiles, commit),
    remove: async (names: Renaming) => removeDirectory(blockingFiles, names),
    create: async (path: string) => {
      writer = hashedWriter(await nodeFileSystem.create(path));
    },
    write: async (chunk: Uint8Array) => opened(writer).write(chunk),
    /** True if this thread can see memory that JavaScript does not own. */
    sees: async (at: MemoryAt) => view(at).byteLength === at.bytes,
    writeAt: async (at: MemoryAt) => opened(writer).write(view(at)),
    close: async () => opened(writer).close(),
    abandon: async () => opened(writer).abandon(),
    open: async (path: string) => {
      reader = hashedReader(await nodeFileSystem.open(path));
    },
    /** Fills memory that both threads share. */
    next: async (into: Uint8Array) => opened(reader).next(into),
    rest: async () => opened(reader).rest(),
    finish: async () => opened(reader).finish(),
  };
}

/** Does in one turn what takes several: on this thread nothing else waits for them. */
const blockingFiles: FileSystem = {
  ...nodeFileSystem,
  create: async (path) => {
    const { openSync, writeSync, fsyncSync, closeSync } = node.fs;
    const file = openSync(path, "wx");
    return {
      write: async (bytes, position) => writeSync(file, bytes, 0, bytes.byteLength, position),
      sync: async () => fsyncSync(file),
      close: async () => closeSync(file),
    };
  },
  rename: async (from, to) => node.fs.renameSync(from, to),
  remove: async (path) => node.fs.rmSync(path, { recursive: true, force: true }),
  syncDirectory: async (path) => {
    if (process.platform === "win32") return;
    const directory = node.fs.openSync(path, "r");
    try {
      node.fs.fsyncSync(directory);
    } finally {
      node.fs.closeSync(directory);
    }
  },
};

function opened<T>(file: T | undefined): T {
  if (file === undefined) throw new Error("the file is not open");
  return file;
}

function view({ viewer, address, bytes }: MemoryAt): Uint8Array {
  const module = node.module.createRequire(import.meta.url)(viewer) as {
    view(address: number, bytes: number): ArrayBuffer;
  };
  return new Uint8Array(module.view(address, bytes));
}
