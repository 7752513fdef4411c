import { node } from "../../core/index.ts";
import { nodeFileSystem } from "./file-system.ts";
import { type HashedReader, type HashedWriter, hashedReader, hashedWriter } from "./hashed.ts";
import type { FileRecord } from "./store.ts";

/** The calls of a file thread. Those for one file are done in the order in which they come. */
export interface FileCalls {
  /** Makes a small file that lasts. */
  whole(file: { readonly path: string; readonly bytes: Uint8Array }): FileRecord;
  create(path: string): void;
  write(chunk: Uint8Array): void;
  /** True if this thread can see memory that JavaScript does not own. */
  sees(at: MemoryAt): boolean;
  /** Writes such memory. */
  writeAt(at: MemoryAt): void;
  close(): FileRecord;
  abandon(): void;
  open(path: string): void;
  /** Fills memory that both threads share. */
  next(into: Uint8Array): void;
  rest(): void;
  finish(): string;
}

/** Memory by its address, and the module whose `view(address, bytes)` gives an ArrayBuffer of it. */
export interface MemoryAt {
  readonly viewer: string;
  readonly address: number;
  readonly bytes: number;
}

export interface Request {
  readonly id: number;
  readonly file: number;
  readonly call: keyof FileCalls;
  readonly argument: unknown;
}

export interface Answer {
  readonly id: number;
  readonly result?: unknown;
  readonly failure?: { readonly message: string; readonly code: string | undefined };
}

/** The work of a file thread: writes, reads and hashes files, as file-threads.ts asks it to. */
export function runThread(): void {
  const files = new Map<number, OpenFile>();
  node.workerThreads.parentPort?.on("message", ({ id, file, call, argument }: Request) => {
    const open = files.get(file) ?? new OpenFile();
    files.set(file, open);
    open.do(call, argument).then(
      (result) => {
        if (["whole", "close", "abandon", "finish"].includes(call)) files.delete(file);
        node.workerThreads.parentPort?.postMessage({ id, result } satisfies Answer);
      },
      (error: NodeJS.ErrnoException) => {
        if (["whole", "create", "open"].includes(call)) files.delete(file);
        const failure = { message: error.message, code: error.code };
        node.workerThreads.parentPort?.postMessage({ id, failure } satisfies Answer);
      },
    );
  });
}

class OpenFile {
  #writer: HashedWriter | undefined;
  #reader: HashedReader | undefined;
  /** The call under way and those that wait for it. Never rejects. */
  #turn: Promise<unknown> = Promise.resolve();

  do(call: keyof FileCalls, argument: unknown): Promise<unknown> {
    const done = this.#turn.then(() => this.#do(call, argument));
    this.#turn = done.catch(() => undefined);
    return done;
  }

  async #do(call: keyof FileCalls, argument: unknown): Promise<unknown> {
    switch (call) {
      case "whole":
        return writeSmall(argument as Parameters<FileCalls["whole"]>[0]);
      case "create":
        this.#writer = hashedWriter(await nodeFileSystem.create(argument as string));
        return;
      case "open":
        this.#reader = hashedReader(await nodeFileSystem.open(argument as string));
        return;
      case "sees":
        return view(argument as MemoryAt).byteLength === (argument as MemoryAt).bytes;
      case "write":
        return opened(this.#writer).write(argument as Uint8Array);
      case "writeAt":
        return opened(this.#writer).write(view(argument as MemoryAt));
      case "next":
        return opened(this.#reader).next(argument as Uint8Array);
      case "rest":
      case "finish":
        return opened(this.#reader)[call]();
      case "close":
      case "abandon":
        return opened(this.#writer)[call]();
    }
  }
}

/** Without a turn between its steps. */
function writeSmall({ path, bytes }: Parameters<FileCalls["whole"]>[0]): FileRecord {
  const { fs, crypto } = node;
  const file = fs.openSync(path, "wx");
  try {
    for (let at = 0; at < bytes.byteLength; ) {
      const taken = fs.writeSync(file, bytes, at);
      if (taken === 0) throw Object.assign(new Error("nothing more was taken"), { code: "ENOSPC" });
      at += taken;
    }
    fs.fsyncSync(file);
  } finally {
    fs.closeSync(file);
  }
  return { bytes: bytes.byteLength, sha256: crypto.createHash("sha256").update(bytes).digest("hex") };
}

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
