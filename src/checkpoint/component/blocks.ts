import type { FileWriter, MemoryInPlace } from "../store/store.ts";

/** Puts bytes of something, from a position on, into the target: at once, or it gives a promise. */
export type Fill = (target: Uint8Array, from: number) => Promise<unknown> | undefined;

/** For writers that lend no memory. */
const ownBlock = 4 * 1024 * 1024;

/**
 * Cuts what a file is made of into blocks and hands them to its writer in order. Blocks are filled while others are
 * written, as many as the writer lends; nobody waits for one before the next is begun, because a turn of the event loop
 * may take long while training goes on.
 */
export function blocksTo(file: FileWriter): {
  /** Appends so many bytes. Returns once all are on their way; a failure is told here or by `flush`. */
  add(bytes: number, fill: Fill): Promise<void>;
  /** Appends memory where it lies; see `writeInPlace` of writers. */
  place(memory: MemoryInPlace, bytes: number): Promise<boolean>;
  /** Hands over what is left and returns once the writer has taken everything. */
  flush(): Promise<void>;
} {
  let block: Uint8Array | undefined;
  let filled = 0;
  let filling: Promise<unknown>[] = [];
  let sent: Promise<unknown> = Promise.resolve();
  let fail: (error: unknown) => void = () => undefined;
  // A failed block never comes back: whoever waits for memory must hear of it.
  const failed = new Promise<never>((_, reject) => {
    fail = reject;
  });
  failed.catch(() => undefined);

  const send = (full: Uint8Array): void => {
    sent = Promise.all([sent, ...filling]).then(() => file.write(full));
    sent.catch(fail);
    block = undefined;
    filled = 0;
    filling = [];
  };
  const flush = async (): Promise<void> => {
    if (block) send(block.subarray(0, filled));
    await sent;
  };
  const room = (): Promise<Uint8Array> => {
    if (file.lend) return Promise.race([failed, file.lend()]);
    return Promise.race([failed, sent.then(() => new Uint8Array(ownBlock))]);
  };
  return {
    add: async (bytes, fill) => {
      for (let at = 0; at < bytes; ) {
        block ??= await room();
        const part = block.subarray(filled, filled + bytes - at);
        const coming = fill(part, at);
        if (coming) filling.push(coming);
        coming?.catch(fail);
        filled += part.length;
        at += part.length;
        if (filled === block.length) send(block);
      }
    },
    place: async (memory, bytes) => {
      await flush();
      return (await file.writeInPlace?.(memory, bytes)) ?? false;
    },
    flush,
  };
}
