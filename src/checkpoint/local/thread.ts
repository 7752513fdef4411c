import { availableParallelism } from "node:os";
import { type Transferable, Worker } from "node:worker_threads";
import { readFlags } from "./file-system.ts";
import { hashedReader, hashedWriter } from "./hashed.ts";
import { nodeFiles } from "./node-files.ts";
import { type Answer, type Call, threadMain } from "./thread-main.ts";

/** What is hashed while the system writes or reads as much: large enough for full speed, small enough to overlap. */
export const piece = 4 * 1024 * 1024;

// Some compilers wrap functions in calls of __name, which only keep their names.
const source = `"use strict";
const __name = (value) => value;
(${threadMain})(require("node:worker_threads").parentPort, {
  load: require,
  files: (${nodeFiles})(require("node:fs/promises").open, ${readFlags}),
  hash: require("node:crypto").createHash,
  writer: ${hashedWriter},
  reader: ${hashedReader},
  piece: ${piece},
});`;

interface Waiting {
  resolve(result: unknown): void;
  reject(error: unknown): void;
}

/** A thread that writes, reads and hashes files. It never keeps the process alive by itself. */
export class FileThread {
  readonly #worker = new Worker(source, { eval: true, execArgv: [], name: "espalier-files" });
  readonly #waiting = new Map<number, Waiting>();
  readonly #viewers = new Map<string, Promise<boolean>>();
  #calls = 0;
  #files = 0;
  /** Why it can do nothing more. */
  #ended: Error | undefined;

  constructor() {
    this.#worker.unref();
    this.#worker.on("message", ({ id, result, failure }: Answer) => {
      const waiting = this.#waiting.get(id);
      this.#waiting.delete(id);
      if (this.#waiting.size === 0) this.#worker.unref();
      if (failure) waiting?.reject(Object.assign(new Error(failure.message), { code: failure.code }));
      else waiting?.resolve(result);
    });
    this.#worker.on("error", (error) => this.#end(error as Error));
    this.#worker.on("exit", (code) => this.#end(new Error(`the file thread ended with ${code}`)));
  }

  get busy(): number {
    return this.#waiting.size;
  }
  get ended(): boolean {
    return this.#ended !== undefined;
  }

  newFile(): number {
    return this.#files++;
  }

  call(call: Omit<Call, "id">, moved: readonly Transferable[] = []): Promise<unknown> {
    if (this.#ended) return Promise.reject(this.#ended);
    const id = this.#calls++;
    return new Promise((resolve, reject) => {
      // Only while it is waited for must the process go on for its sake.
      if (this.#waiting.size === 0) this.#worker.ref();
      this.#waiting.set(id, { resolve, reject });
      this.#worker.postMessage({ ...call, id }, moved);
    });
  }

  /** Whether it can see memory that JavaScript does not own. Tries it out once for each module that views it. */
  sees(at: NonNullable<Call["at"]>): Promise<boolean> {
    const seen =
      this.#viewers.get(at.viewer) ??
      this.call({ file: this.newFile(), kind: "view", at }).then(
        (whole) => whole === true,
        () => false,
      );
    this.#viewers.set(at.viewer, seen);
    return seen;
  }

  #end(error: Error): void {
    this.#ended ??= error;
    for (const { reject } of this.#waiting.values()) reject(this.#ended);
    this.#waiting.clear();
  }
}

const threads: FileThread[] = [];

/** The thread that has least to do; a new one while all are busy and there are processors for more. */
export function fileThread(): FileThread {
  for (let i = threads.length - 1; i >= 0; i--) if (threads[i]?.ended) threads.splice(i, 1);
  const least = threads.reduce<FileThread | undefined>(
    (best, thread) => (best && best.busy <= thread.busy ? best : thread),
    undefined,
  );
  if (least && (least.busy === 0 || threads.length >= Math.min(4, availableParallelism()))) return least;
  const fresh = new FileThread();
  threads.push(fresh);
  return fresh;
}
