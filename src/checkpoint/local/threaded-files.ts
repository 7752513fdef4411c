import type { FileRecord } from "../store/store.ts";
import type { HashedReader, HashedWriter } from "./hashed.ts";
import { fileThread } from "./thread.ts";

/** Bytes that may be on their way to the disk: enough that neither side waits, little beside a model. */
const window = 32 * 1024 * 1024;

/** Opens a file for writing on a file thread. Writes return while there is room; the next call tells of a failure. */
export async function createOnThread(path: string): Promise<HashedWriter> {
  const thread = fileThread();
  const file = thread.newFile();
  await thread.call({ file, kind: "create", path });
  const underWay: { readonly bytes: number; readonly done: Promise<unknown> }[] = [];
  let bytes = 0;
  const untilBelow = async (limit: number): Promise<void> => {
    for (let first = underWay[0]; first && bytes > limit; first = underWay[0]) {
      await first.done;
      bytes -= first.bytes;
      underWay.shift();
    }
  };
  return {
    write: async (chunk) => {
      await untilBelow(window);
      const given = sendable(chunk);
      const size = given.byteLength;
      const moved = given.buffer instanceof ArrayBuffer ? [given.buffer] : [];
      const done = thread.call({ file, kind: "write", chunk: given }, moved);
      done.catch(() => undefined);
      underWay.push({ bytes: size, done });
      bytes += size;
      await untilBelow(window);
    },
    close: async () => {
      await untilBelow(0);
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

/** Moved to the other thread without a copy, unless it is a part of a larger memory. */
function sendable(chunk: Uint8Array): Uint8Array {
  const whole = chunk.buffer instanceof SharedArrayBuffer || chunk.byteLength === chunk.buffer.byteLength;
  return whole ? chunk : new Uint8Array(chunk);
}
