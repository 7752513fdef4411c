import type { PjrtApi } from "./api.ts";
import { Block } from "./block.ts";
import { type Handle, koffiPath } from "./koffi.ts";
import { RESULT, SUBJECT } from "./layout.ts";

/** The bytes of a buffer where they lie, for threads of this process to read. They stay until `release`. */
export interface BufferMemory {
  readonly address: Handle;
  /** The module whose `view(address, bytes)` gives an ArrayBuffer of them, in any thread. */
  readonly viewer: string;
  /** Doing it twice does no harm. */
  release(): void;
}

/** A plugin's guarantee about a buffer's memory. */
export interface References {
  /** Keeps the memory where it is. Gives its address; 0 where the plugin does not do that. */
  take(buffer: Handle): Handle;
  drop(buffer: Handle): void;
}

/** Buffers that are being read in place: freeing one meanwhile is postponed. */
export class InPlace {
  readonly #references: References;
  readonly #viewer: string | undefined;
  readonly #read = new Map<Handle, { readers: number; free: (() => void) | undefined }>();

  constructor(references: References, viewer = koffiPath()) {
    this.#references = references;
    this.#viewer = viewer;
  }

  /** The memory of a buffer that is ready; undefined where the plugin does not lend it. */
  lend(buffer: Handle): BufferMemory | undefined {
    const viewer = this.#viewer;
    const address = viewer === undefined ? 0 : this.#references.take(buffer);
    if (viewer === undefined || address === 0) return undefined;
    const read = this.#read.get(buffer) ?? { readers: 0, free: undefined };
    this.#read.set(buffer, read);
    read.readers++;
    let released = false;
    const release = (): void => {
      if (released) return;
      released = true;
      this.#references.drop(buffer);
      read.readers--;
      if (read.readers > 0) return;
      this.#read.delete(buffer);
      read.free?.();
    };
    return { address, viewer, release };
  }

  /** True while the buffer is being read: `free` is then called afterwards. */
  postpones(buffer: Handle, free: () => void): boolean {
    const read = this.#read.get(buffer);
    if (read) read.free = free;
    return read !== undefined;
  }
}

/** References as PJRT counts them: while there are any, it gives the memory to no other program. */
export function pluginReferences(api: PjrtApi): References {
  const block = Block.struct();
  const drop = (buffer: Handle): void => {
    block.setPointer(SUBJECT, buffer);
    api.call("bufferDropReference", block);
  };
  return {
    take: (buffer) => {
      block.setPointer(SUBJECT, buffer);
      try {
        api.call("bufferAddReference", block);
      } catch {
        return 0;
      }
      try {
        return api.call("bufferUnsafePointer", block).pointer(RESULT);
      } catch {
        drop(buffer);
        return 0;
      }
    },
    drop,
  };
}
