import { type ApiVersion, PjrtApi } from "./api.ts";
import { Block } from "./block.ts";
import { Buffers } from "./buffers.ts";
import { encodeCompileOptions, encodeNamedValues, type FlagValue } from "./compile-options.ts";
import { listDevices, type PjrtDevice } from "./device.ts";
import { closeAtExit } from "./events.ts";
import { PjrtExecutable } from "./executable.ts";
import { clientCreate, compile, program, SUBJECT } from "./layout.ts";
import type { Handle } from "./library.ts";

/** Options for compiling one program. */
export interface ProgramRequest {
  /** Compiler flags of this program alone. */
  readonly flags?: Readonly<Record<string, FlagValue>>;
  /**
   * The device it will run on, or several, by the shardings in its text; `any`: the one that each call names. Default:
   * the client's first one.
   */
  readonly device?: PjrtDevice | readonly PjrtDevice[] | "any";
}

/**
 * A PJRT plugin at work: its devices, its compiler, its buffers.
 *
 * @example
 * ```ts
 * const client = PjrtClient.open("/opt/plugins/xla_cpu_pjrt.so");
 * const program = client.compile(stablehloText, {});
 * const input = client.buffers.fromHost(new Uint8Array(4), "f32", [], client.devices[0]);
 * const outputs: Handle[] = [];
 * program.execute([input], outputs);
 * ```
 */
export class PjrtClient {
  readonly path: string;
  readonly platform: string;
  readonly apiVersion: ApiVersion;
  /** The devices this process can use. */
  readonly devices: readonly PjrtDevice[];
  readonly buffers: Buffers;
  readonly #api: PjrtApi;
  /** Programs that have not been freed; held weakly, so that unused ones can be. */
  readonly #programs = new Map<Handle, WeakRef<PjrtExecutable>>();
  readonly #collected = new FinalizationRegistry<Handle>((program) => this.#destroyProgram(program));
  readonly #forget: () => void;
  #handle: Handle;

  /** Loads a plugin and starts it. Whatever fails is an EspalierError with the plugin's or loader's own words. */
  static open(path: string, createOptions: Readonly<Record<string, number>> = {}): PjrtClient {
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
    this.devices = listDevices(api, handle);
    this.buffers = new Buffers(api, handle, this.platform === "cpu");
    this.#forget = closeAtExit(() => this.close());
  }

  /** Compiles a StableHLO module, given as text. */
  compile(module: string, request: ProgramRequest = {}): PjrtExecutable {
    this.buffers.checkOpen();
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
      devices: isSeveral(device) ? device.length : 1,
      onClose: () => this.#programs.delete(handle),
    });
    this.#programs.set(handle, new WeakRef(executable));
    this.#collected.register(executable, handle);
    return executable;
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
    this.buffers.close();
    this.#forget();
    this.#api.query("clientDestroy", handle);
  }

  /** Frees a program whose object has been collected, or that was not closed. */
  #destroyProgram(program: Handle): void {
    if (this.#programs.delete(program)) this.#api.query("loadedExecutableDestroy", program);
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
