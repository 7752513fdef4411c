import { EspalierError } from "../../../core/index.ts";
import { type ApiVersion, PjrtApi } from "./api.ts";
import { Block } from "./block.ts";
import { Buffers } from "./buffers.ts";
import {
  encodeCompileOptions,
  encodeNamedValues,
  type FlagValue,
  type OptionValue,
} from "./compile-options.ts";
import { listDevices, type PjrtDevice } from "./device.ts";
import { closeAtExit } from "./events.ts";
import { PjrtExecutable } from "./executable.ts";
import { clientCreate, compile, program, SUBJECT } from "./layout.ts";
import type { Handle } from "./library.ts";
import type { BufferMemory } from "./read.ts";

/** Options for compiling one program. */
export interface ProgramRequest {
  /** Compiler flags of this program alone. */
  readonly flags?: Readonly<Record<string, FlagValue>>;
  /**
   * The device it will run on, or several, by the shardings in its text; `any`: the one that each call names. Default:
   * the client's first one.
   */
  readonly device?: PjrtDevice | readonly PjrtDevice[] | "any";
  /** Inputs that calls never take over, whatever the module's aliasing attributes say. */
  readonly nonDonatable?: readonly number[];
}

/**
 * A PJRT plugin at work: its devices, its compiler, its buffers.
 *
 * @example
 * ```ts
 * const client = PjrtClient.open("/opt/plugins/xla_cpu_pjrt.so");
 * const program = client.compile(stablehloText, {});
 * const input = client.bufferFromHost(new Uint8Array(4), bufferType.f32, [], client.devices[0]);
 * const outputs: Handle[] = [];
 * program.execute([input], outputs);
 * ```
 */
export class PjrtClient {
  readonly path: string;
  readonly platform: string;
  readonly platformVersion: string;
  readonly apiVersion: ApiVersion;
  /** The devices this process can use. */
  readonly devices: readonly PjrtDevice[];
  readonly #api: PjrtApi;
  readonly #buffers: Buffers;
  /** Programs that have not been freed; held weakly, so that unused ones can be. */
  readonly #programs = new Map<Handle, WeakRef<PjrtExecutable>>();
  readonly #collected = new FinalizationRegistry<Handle>((program) => this.#destroyProgram(program));
  readonly #forget: () => void;
  #handle: Handle;

  /** Loads a plugin and starts it. Whatever fails is an EspalierError with the plugin's or loader's own words. */
  static open(path: string, createOptions: Readonly<Record<string, OptionValue>> = {}): PjrtClient {
    const api = PjrtApi.load(path);
    const block = Block.struct();
    const count = Object.keys(createOptions).length;
    if (count > 0) block.pointTo(clientCreate.options, encodeNamedValues(createOptions));
    block.setPointer(clientCreate.optionCount, count);
    api.call("clientCreate", block, "PLUGIN_FAILED");
    return new PjrtClient(api, block.pointer(clientCreate.client));
  }

  private constructor(api: PjrtApi, handle: Handle) {
    this.#api = api;
    this.#handle = handle;
    this.path = api.path;
    this.apiVersion = api.version;
    this.platform = api.queryText("clientPlatformName", handle);
    this.platformVersion = api.queryText("clientPlatformVersion", handle);
    this.devices = listDevices(api, handle);
    this.#buffers = new Buffers(api, handle, this.platform === "cpu");
    this.#forget = closeAtExit(() => this.close());
  }

  /** Compiles a StableHLO module, given as text. */
  compile(module: string, request: ProgramRequest = {}): PjrtExecutable {
    this.#checkOpen();
    const code = Buffer.from(module);
    const { device } = request;
    const ids = isSeveral(device) ? device.map(({ id }) => id) : device === "any" ? device : device?.id;
    const options = encodeCompileOptions(ids, request.flags ?? {});
    const block = Block.struct();
    block.setPointer(SUBJECT, this.#handle);
    block.pointTo(compile.program, encodeProgram(code));
    block.pointTo(compile.options, Block.bytes(options));
    block.setPointer(compile.optionsLength, options.length);
    const handle = this.#api.call("clientCompile", block, "XLA_COMPILE").pointer(compile.executable);
    const executable = new PjrtExecutable(this.#api, handle, {
      nonDonatable: request.nonDonatable ?? [],
      devices: isSeveral(device) ? device.length : 1,
      onClose: () => this.#programs.delete(handle),
    });
    this.#programs.set(handle, new WeakRef(executable));
    this.#collected.register(executable, handle);
    return executable;
  }

  /** Copies bytes to a device. The bytes may change as soon as this returns. */
  bufferFromHost(data: Uint8Array, elementType: number, dims: readonly number[], device: PjrtDevice): Handle {
    return this.#open.fromHost(data, elementType, dims, device);
  }

  /** Copies a buffer to `target` and blocks until it is there. */
  bufferToHost(buffer: Handle, target: Uint8Array): void {
    this.#open.toHost(buffer, target);
  }

  /** Copies a buffer to `target` without blocking the event loop. `target` must not be used until it resolves. */
  bufferToHostAsync(buffer: Handle, target: Uint8Array): Promise<void> {
    return this.#open.toHostAsync(buffer, target);
  }

  /** The same for a part of it: as many bytes from a position on as `target` has room for. */
  bufferPartToHost(buffer: Handle, from: number, target: Uint8Array): Promise<void> {
    return this.#open.partToHost(buffer, from, target);
  }

  /**
   * The bytes of a buffer that is ready where they lie, until they are released; freeing the buffer waits for that.
   * Undefined where the device's memory is not the host's.
   */
  bufferInPlace(buffer: Handle): BufferMemory | undefined {
    const memory = this.#open.inPlace(buffer);
    if (!memory) return undefined;
    const release = (): void => {
      if (this.#handle !== 0) memory.release();
    };
    return { ...memory, release };
  }

  /** True if the program that makes this buffer has finished. */
  bufferReady(buffer: Handle): boolean {
    return this.#open.isReady(buffer);
  }

  /** Blocks until the buffer is there; throws if the program that makes it failed. */
  awaitBuffer(buffer: Handle): void {
    this.#open.wait(buffer);
  }

  /** As {@link awaitBuffer}, without blocking the event loop. */
  awaitBufferAsync(buffer: Handle): Promise<void> {
    return this.#open.waitAsync(buffer);
  }

  /** Frees a buffer, or the handle of one that a program took over. Does nothing once the client is closed. */
  destroyBuffer(buffer: Handle): void {
    if (this.#handle !== 0) this.#buffers.destroy(buffer);
  }

  /** Bytes the buffer takes on its device. */
  bufferByteSize(buffer: Handle): number {
    return this.#open.byteSize(buffer);
  }

  /** A copy of the buffer on another device. */
  copyToDevice(buffer: Handle, device: PjrtDevice): Handle {
    return this.#open.copyTo(buffer, device);
  }

  /** Waits for running programs, then frees them all and stops the client. Its buffers are gone with it. */
  close(): void {
    if (this.#handle === 0) return;
    const handle = this.#handle;
    for (const [program, executable] of this.#programs) {
      executable.deref()?.close();
      this.#destroyProgram(program);
    }
    this.#handle = 0;
    this.#forget();
    this.#api.query("clientDestroy", handle);
  }

  /** Frees a program whose object has been collected, or that was not closed. */
  #destroyProgram(program: Handle): void {
    if (this.#programs.delete(program)) this.#api.query("loadedExecutableDestroy", program);
  }

  get #open(): Buffers {
    this.#checkOpen();
    return this.#buffers;
  }

  #checkOpen(): void {
    if (this.#handle === 0)
      throw new EspalierError("XLA_RUNTIME", "this XLA client is closed", { fix: "open another one" });
  }
}

const isSeveral = (device: ProgramRequest["device"]): device is readonly PjrtDevice[] =>
  Array.isArray(device);

function encodeProgram(code: Uint8Array): Block {
  const format = Buffer.from("mlir");
  const block = Block.struct();
  block.pointTo(program.code, Block.bytes(code));
  block.setPointer(program.codeLength, code.length);
  block.pointTo(program.format, Block.bytes(format));
  block.setPointer(program.formatLength, format.length);
  return block;
}
