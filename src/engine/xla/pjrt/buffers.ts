import { EspalierError } from "../../../core/index.ts";
import type { HostMemory } from "../../run/backend.ts";
import { byteWidth, type DType } from "../../trace/dtype.ts";
import type { PjrtApi } from "./api.ts";
import { Block } from "./block.ts";
import type { PjrtDevice } from "./device.ts";
import { Events } from "./events.ts";
import { bufferType, fromHost, RESULT, SUBJECT } from "./layout.ts";
import { type Handle, native } from "./library.ts";
import { DeviceReader, HostReader, InPlace, pluginReferences, type Reader } from "./read.ts";

const MAX_RANK = 64;

type BufferQuery = "bufferOnDeviceBytes" | "bufferDestroy" | "bufferReadyEvent";

/** A client's device buffers: made from host bytes, read back, waited for, freed. */
export class Buffers {
  readonly #api: PjrtApi;
  readonly #events: Events;
  readonly #reader: Reader;
  readonly #inPlace: InPlace | undefined;
  readonly #fromHost = Block.struct();
  readonly #subject = Block.struct();
  readonly #dims = new Block(MAX_RANK * 8);
  readonly #empty = new Block(8);
  #open = true;

  /** @param onHost whether the devices' memory is the host's own */
  constructor(api: PjrtApi, client: Handle, onHost: boolean) {
    this.#api = api;
    this.#events = new Events(api);
    const device = new DeviceReader(api, this.#events);
    this.#reader = onHost ? new HostReader(api, this, device) : device;
    this.#inPlace = onHost ? new InPlace(pluginReferences(api)) : undefined;
    this.#fromHost.setPointer(SUBJECT, client);
    this.#fromHost.pointTo(fromHost.dims, this.#dims);
    this.#fromHost.setInt32(fromHost.semantics, 0); // the data is copied during the call
  }

  /** After this, buffers can only be freed, which does nothing: they are gone with the client. */
  close(): void {
    this.#open = false;
  }

  /** Throws once the client is closed. */
  checkOpen(): void {
    if (!this.#open)
      throw new EspalierError("XLA_RUNTIME", "this XLA client is closed", { fix: "open another one" });
  }

  /** Copies bytes to a device. The bytes may change as soon as this returns. */
  fromHost(data: Uint8Array, dtype: DType, dims: readonly number[], device: PjrtDevice): Handle {
    this.checkOpen();
    checkLength(data, dtype, dims);
    for (let i = 0; i < dims.length; i++) this.#dims.setPointer(i * 8, dims[i] as number);
    const block = this.#fromHost;
    block.setPointer(fromHost.data, data.byteLength === 0 ? this.#empty.address : native().addressOf(data));
    block.setInt32(fromHost.type, bufferType[dtype]);
    block.setPointer(fromHost.rank, dims.length);
    block.setPointer(fromHost.device, device.handle);
    this.#api.call("clientBufferFromHost", block);
    this.#events.drop(block.pointer(fromHost.doneEvent));
    return block.pointer(fromHost.buffer);
  }

  /** Copies a buffer to `target` and blocks until it is there. */
  toHost(buffer: Handle, target: Uint8Array): void {
    this.#reader.read(this.#alive(buffer), target);
  }

  /** Copies a buffer to `target` without blocking the event loop. `target` must not be used until it resolves. */
  async toHostAsync(buffer: Handle, target: Uint8Array): Promise<void> {
    await this.#reader.readAsync(this.#alive(buffer), target);
  }

  /**
   * Fills `target` with the buffer's bytes from a position on, without holding up the event loop. The buffer must be
   * ready: the CPU plugin crashes when it is to copy a part of what has not been computed.
   */
  async partToHost(buffer: Handle, from: number, target: Uint8Array): Promise<void> {
    if (target.byteLength === 0) return;
    const bytes = this.byteSize(buffer);
    if (from + target.byteLength > bytes)
      throw new EspalierError(
        "XLA_RUNTIME",
        `bytes ${from} to ${from + target.byteLength} of a buffer of ${bytes}`,
      );
    if (!this.isReady(buffer))
      throw new EspalierError("XLA_RUNTIME", "a part of a buffer that has not been computed yet");
    await this.#reader.readPart(buffer, from, target);
  }

  /**
   * The bytes of a buffer where they lie, until they are released; freeing the buffer waits for that. Undefined where
   * it has not been computed, or the device's memory is not the host's.
   */
  inPlace(buffer: Handle): HostMemory | undefined {
    const memory = this.isReady(buffer) ? this.#inPlace?.lend(buffer) : undefined;
    if (!memory) return undefined;
    const release = (): void => {
      if (this.#open) memory.release();
    };
    return { ...memory, release };
  }

  isReady(buffer: Handle): boolean {
    const event = this.#readyEvent(buffer);
    const ready = this.#events.isReady(event);
    this.#events.drop(event);
    return ready;
  }

  /** Blocks until the buffer is there; throws if the program that makes it failed. */
  wait(buffer: Handle): void {
    this.#events.wait(this.#readyEvent(buffer));
  }

  /** As {@link wait}, without blocking the event loop. */
  async waitAsync(buffer: Handle): Promise<void> {
    await this.#events.waitAsync(this.#readyEvent(buffer));
  }

  /** Bytes the buffer takes on its device. */
  byteSize(buffer: Handle): number {
    return this.#about("bufferOnDeviceBytes", buffer).pointer(RESULT);
  }

  /**
   * Frees a buffer, or the handle of one that a program took over: now, or after the last reading in place. Does
   * nothing once the client is closed.
   */
  destroy(buffer: Handle): void {
    if (!this.#open) return;
    if (this.#inPlace?.postpones(buffer, () => this.destroy(buffer))) return;
    this.#about("bufferDestroy", buffer);
  }

  #readyEvent(buffer: Handle): Handle {
    return this.#about("bufferReadyEvent", buffer).pointer(RESULT);
  }

  #about(query: BufferQuery, buffer: Handle): Block {
    this.#subject.setPointer(SUBJECT, this.#alive(buffer));
    return this.#api.call(query, this.#subject);
  }

  /** PJRT would crash on a null buffer. */
  #alive(buffer: Handle): Handle {
    this.checkOpen();
    if (buffer !== 0) return buffer;
    throw new EspalierError("XLA_RUNTIME", "the buffer is null: it was never made, or it was freed");
  }
}

/** PJRT takes the length from the shape and would read past the end of shorter data. */
function checkLength(data: Uint8Array, dtype: DType, dims: readonly number[]): void {
  if (dims.length > MAX_RANK)
    throw new EspalierError(
      "XLA_RUNTIME",
      `an array of ${dims.length} axes; at most ${MAX_RANK} are possible`,
    );
  let bytes = byteWidth(dtype);
  for (let i = 0; i < dims.length; i++) bytes *= dims[i] as number;
  if (data.byteLength === bytes) return;
  throw new EspalierError(
    "XLA_RUNTIME",
    `${data.byteLength} bytes for shape [${dims}], which takes ${bytes}`,
  );
}
