import type { createHash } from "node:crypto";
import type { MessagePort } from "node:worker_threads";
import type { hashedReader, hashedWriter } from "./hashed.ts";
import type { nodeFiles } from "./node-files.ts";

/** What is asked of a thread. Calls for one file are done in the order in which they come. */
export interface Call {
  readonly id: number;
  readonly file: number;
  readonly kind:
    | "memory"
    | "view"
    | "create"
    | "write"
    | "close"
    | "abandon"
    | "open"
    | "next"
    | "rest"
    | "finish";
  readonly path?: string;
  readonly chunk?: Uint8Array;
  /** Instead of a chunk: memory that JavaScript does not own. */
  readonly at?: { readonly viewer: string; readonly address: number; readonly bytes: number };
  /** Memory that both threads share. */
  readonly into?: Uint8Array;
}

export interface Answer {
  readonly id: number;
  readonly result?: unknown;
  readonly failure?: { readonly message: string; readonly code: string | undefined };
}

/** What the function below is given: it must not use anything else. */
export interface ThreadParts {
  readonly load: NodeJS.Require;
  readonly files: ReturnType<typeof nodeFiles>;
  readonly hash: typeof createHash;
  readonly writer: typeof hashedWriter;
  readonly reader: typeof hashedReader;
  readonly piece: number;
}

/**
 * The work of a file thread. It is its text that runs there, because a file of its own would have to be found from
 * source, from the built package, and from whatever a user's bundler makes of it.
 */
export function threadMain(
  port: MessagePort,
  { load, files, hash, writer, reader, piece }: ThreadParts,
): void {
  const writers = new Map<number, ReturnType<typeof hashedWriter>>();
  const readers = new Map<number, ReturnType<typeof hashedReader>>();
  const queues = new Map<number, Promise<void>>();
  const find = <T>(map: Map<number, T>, file: number): T => {
    const found = map.get(file);
    if (!found) throw new Error("the file is not open");
    return found;
  };
  const seen = ({ viewer, address, bytes }: NonNullable<Call["at"]>): Uint8Array =>
    new Uint8Array(load(viewer).view(address, bytes));
  const perform = async ({ kind, file, path = "", chunk, at, into }: Call): Promise<unknown> => {
    if (kind === "view") {
      queues.delete(file);
      return at && seen(at).byteLength === at.bytes;
    }
    if (kind === "memory") {
      queues.delete(file);
      return new Uint8Array(new SharedArrayBuffer(piece));
    }
    if (kind === "create") writers.set(file, writer(await files.create(path), hash("sha256"), piece));
    else if (kind === "open") {
      const opened = await files.open(path);
      readers.set(file, reader(opened, hash("sha256"), piece));
    } else if (kind === "write") await find(writers, file).write(at ? seen(at) : (chunk ?? new Uint8Array()));
    else if (kind === "next") await find(readers, file).next(into ?? new Uint8Array());
    else if (kind === "rest") await find(readers, file).rest();
    else {
      const last = kind === "finish" ? find(readers, file).finish() : undefined;
      const written = kind === "close" ? find(writers, file).close() : undefined;
      if (kind === "abandon") await writers.get(file)?.abandon();
      // A failed close leaves the file to `abandon`.
      const result = await (last ?? written);
      writers.delete(file);
      readers.delete(file);
      queues.delete(file);
      return result;
    }
    return undefined;
  };
  port.on("message", (call: Call) => {
    const turn = (queues.get(call.file) ?? Promise.resolve()).then(() => perform(call));
    queues.set(
      call.file,
      turn.then(
        (result) => port.postMessage({ id: call.id, result }),
        (error: unknown) => {
          const { message, code } = error as NodeJS.ErrnoException;
          port.postMessage({ id: call.id, failure: { message, code } });
        },
      ),
    );
  });
}
