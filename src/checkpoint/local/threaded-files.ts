import type { FileRecord } from "../store/store.ts";
import { BlockStock } from "./block-stock.ts";
import type { HashedReader, HashedWriter } from "./hashed.ts";
import { fileThread, piece } from "./thread.ts";

/** Bytes that may be on their way to the disk: enough that neither side waits, little beside a model. */
const window = 64 * 1024 * 1024;

/** Opens a file for writing on a file thread. Writes return while there is room; the next call tells of a failure. */
export async function createOnThread(path: string): Promise<HashedWriter> {
  const thread = fileThread();
  const file = thread.newFile();
  await thread.call({ file, kind: "create", path });
  // Memory is made on the other thread: the system fills it with zeros, which takes long.
  const stock = new BlockStock(
    window / piece,
    () => thread.call({ file: thread.newFile(), kind: "memory" }) as Promise<Uint8Array>,
  );
  const underWay: { readonly bytes: number; readonly done: Promise<unknown> }[] = [];
  let bytes = 0;
  let failure: { readonly error: unknown } | undefined;
  const untilBelow = async (limit: number): Promise<void> => {
    for (let first = underWay[0]; first && bytes > limit; first = underWay[0]) {
      await first.done;
      bytes -= first.bytes;
      underWay.shift();
    }
  };
  const noteFailure = (error: unknown): void => {
    failure ??= { error };
    stock.fail(error);
  };
  return {
    lend: () => (failure ? Promise.reject(failure.error) : stock.lend()),
    write: async (chunk) => {
      if (failure) throw failure.error;
      const given = sendable(chunk);
      const size = given.byteLength;
      const moved = given.buffer instanceof ArrayBuffer ? [given.buffer] : [];
      const done = thread.call({ file, kind: "write", chunk: given }, moved);
      done.then(() => stock.takeBack(given.buffer), noteFailure);
      underWay.push({ bytes: size, done });
      bytes += size;
      await untilBelow(window);
    },
    writeInPlace: async ({ address, viewer, release }, size) => {
      const at = { viewer, address, bytes: size };
      if (failure || !(await thread.sees(at))) return false;
      const done = thread.call({ file, kind: "write", at }).finally(release);
      done.catch(noteFailure);
      // It takes no memory of its own: nobody waits for it before the end.
      underWay.push({ bytes: 0, done });
      return true;
    },
    close: async () => {
      for (const { done } of underWay) await done;
      return (await thread.call({ file, kind: "close" })) as FileRecord;
    },
    abandon: async () => void (await thread.call({ file, kind: "abandon" })),
  };
}

/** Opens a file for reading on a file thread. */
export async function openOnThread(path: string): Promise<HashedReader> {
  const thread = fileThread();
  const file = thread.newFile();
  await thread.call({ file, kind: "open", path });
  return {
    next: async (into) => void (await thread.call({ file, kind: "next", into })),
    rest: async () => void (await thread.call({ file, kind: "rest" })),
    finish: async () => (await thread.call({ file, kind: "finish" })) as string,
  };
}

/** The sha256 of a file; this thread does none of the work. */
export async function hashOnThread(path: string): Promise<string> {
  const reader = await openOnThread(path);
  try {
    await reader.rest();
  } catch (error) {
    await reader.finish().catch(() => undefined);
    throw error;
  }
  return reader.finish();
}

/** Moved to the other thread without a copy, unless it is a part of a larger memory. */
function sendable(chunk: Uint8Array): Uint8Array {
  const whole = chunk.buffer instanceof SharedArrayBuffer || chunk.byteLength === chunk.buffer.byteLength;
  return whole ? chunk : new Uint8Array(chunk);
}
