import { EspalierError } from "../../../core/index.ts";
import type { HostMemory } from "../../run/backend.ts";
import type { PjrtApi } from "./api.ts";
import { Block } from "./block.ts";
import type { Events } from "./events.ts";
import { RESULT, rawToHost, SUBJECT, toHost } from "./layout.ts";
import { type Handle, koffiPath, native } from "./library.ts";

/** A way to bring a buffer's bytes to the host. */
export interface Reader {
  read(buffer: Handle, target: Uint8Array): void;
  readAsync(buffer: Handle, target: Uint8Array): Promise<void>;
  /** Fills `target` with the bytes of a buffer that is ready from a position on. */
  readPart(buffer: Handle, from: number, target: Uint8Array): Promise<void>;
}

/** Lets the plugin copy, on its own threads or by DMA. Works on every device. */
export class DeviceReader implements Reader {
  readonly #api: PjrtApi;
  readonly #events: Events;
  readonly #block = Block.struct();
  /** Not the same: fields of the one would be options of the other. */
  readonly #part = Block.struct();
  readonly #empty = new Block(8);

  constructor(api: PjrtApi, events: Events) {
    this.#api = api;
    this.#events = events;
  }

  read(buffer: Handle, target: Uint8Array): void {
    this.#events.wait(this.#start(buffer, target));
  }

  async readAsync(buffer: Handle, target: Uint8Array): Promise<void> {
    await this.#events.waitAsync(this.#start(buffer, target));
    // Named after the wait, so that the memory the copy goes to cannot be collected before it.
    void target.byteLength;
  }

  async readPart(buffer: Handle, from: number, target: Uint8Array): Promise<void> {
    const block = this.#part;
    block.setPointer(SUBJECT, buffer);
    block.setPointer(rawToHost.target, native().addressOf(target));
    block.setPointer(rawToHost.from, from);
    block.setPointer(rawToHost.bytes, target.byteLength);
    await this.#events.waitPatiently(this.#api.call("bufferCopyRawToHost", block).pointer(rawToHost.event));
    void target.byteLength;
  }

  #start(buffer: Handle, target: Uint8Array): Handle {
    const block = this.#block;
    block.setPointer(SUBJECT, buffer);
    // A null target would ask for the size instead.
    const address = target.byteLength === 0 ? this.#empty.address : native().addressOf(target);
    block.setPointer(toHost.target, address);
    block.setPointer(toHost.targetBytes, target.byteLength);
    return this.#api.call("bufferToHost", block).pointer(toHost.event);
  }
}

/** Above this many bytes, an asynchronous read leaves the copying to the plugin's threads. */
const LONG_COPY = 1 << 20;
/** Parts are read many at a time: only the shortest copies may hold up the caller. */
const SHORT_PART = 1 << 16;

interface Waiter {
  isReady(buffer: Handle): boolean;
  wait(buffer: Handle): void;
  byteSize(buffer: Handle): number;
}

/**
 * Copies straight out of a CPU device's memory, which is the host's own. The plugin hands every copy to another
 * thread, which costs several microseconds even for a scalar.
 */
export class HostReader implements Reader {
  readonly #api: PjrtApi;
  readonly #buffers: Waiter;
  readonly #device: DeviceReader;
  readonly #block = Block.struct();

  constructor(api: PjrtApi, buffers: Waiter, device: DeviceReader) {
    this.#api = api;
    this.#buffers = buffers;
    this.#device = device;
  }

  read(buffer: Handle, target: Uint8Array): void {
    this.#buffers.wait(buffer);
    this.#copy(buffer, target);
  }

  async readAsync(buffer: Handle, target: Uint8Array): Promise<void> {
    // Not after a wait: the caller may free the buffer meanwhile, and only the plugin's own copy survives that.
    if (target.byteLength <= LONG_COPY && this.#buffers.isReady(buffer)) this.read(buffer, target);
    else await this.#device.readAsync(buffer, target);
  }

  async readPart(buffer: Handle, from: number, target: Uint8Array): Promise<void> {
    if (target.byteLength > SHORT_PART) await this.#device.readPart(buffer, from, target);
    else native().copyTo(target, this.#address(buffer) + from, target.byteLength);
  }

  #copy(buffer: Handle, target: Uint8Array): void {
    const bytes = this.#buffers.byteSize(buffer);
    if (bytes > target.byteLength)
      throw new EspalierError("XLA_RUNTIME", `a buffer of ${bytes} bytes read into ${target.byteLength}`);
    if (bytes > 0) native().copyTo(target, this.#address(buffer), bytes);
  }

  #address(buffer: Handle): Handle {
    this.#block.setPointer(SUBJECT, buffer);
    return this.#api.call("bufferUnsafePointer", this.#block).pointer(RESULT);
  }
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
  lend(buffer: Handle): HostMemory | undefined {
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
