import { EspalierError } from "../../../core/index.ts";
import type { PjrtApi } from "./api.ts";
import { Block } from "./block.ts";
import type { PjrtDevice } from "./device.ts";
import { execute, RESULT, SUBJECT } from "./layout.ts";
import type { Handle, NativeFunction } from "./library.ts";

const HIGH = 2 ** 32;

export interface ExecutableOptions {
  /** Devices that it runs on, each with inputs and outputs of its own. */
  readonly devices: number;
  readonly onClose: () => void;
}

/** A compiled program on its device, or on several. Everything a call needs is laid out once, here. */
export class PjrtExecutable {
  /** Outputs of a call, over all devices. */
  readonly outputCount: number;
  readonly #devices: number;
  readonly #api: PjrtApi;
  readonly #execute: NativeFunction;
  readonly #block = Block.struct();
  readonly #outputs: Block;
  #inputs = new Block(0);
  #inputCount = -1;
  readonly #onClose: () => void;
  #handle: Handle;

  constructor(api: PjrtApi, handle: Handle, { devices, onClose }: ExecutableOptions) {
    this.#api = api;
    this.#handle = handle;
    this.#onClose = onClose;
    this.#devices = devices;
    this.#execute = api.functions.loadedExecutableExecute;
    const inner = api.query("loadedExecutableExecutable", handle).pointer(RESULT);
    this.outputCount = devices * api.query("executableNumOutputs", inner).pointer(RESULT);
    api.query("executableDestroy", inner);

    this.#outputs = new Block(this.outputCount * 8);
    this.#block.setPointer(SUBJECT, handle);
    this.#block.pointTo(execute.options, Block.struct());
    this.#block.setPointer(execute.deviceCount, devices);
    this.#block.pointTo(execute.outputLists, listsOf(this.#outputs, devices, this.outputCount));
  }

  /**
   * Starts the program on `inputs` and writes the handles of its results to `outputs`, without waiting for it. Of
   * several devices these are all of the first, then all of the second, and so on. A program that was compiled for
   * any device runs on `device`.
   * The caller owns the outputs. Inputs that the module aliases to outputs are used up, but their handles still
   * have to be destroyed.
   */
  execute(inputs: readonly Handle[], outputs: Handle[], device?: PjrtDevice): void {
    const count = inputs.length;
    if (count !== this.#inputCount) this.#resize(count);
    const into = this.#inputs.words;
    for (let i = 0; i < count; i++) {
      const handle = inputs[i] as Handle;
      if (handle === 0) throw freed(`input ${i}`);
      into[2 * i] = handle; // the low 32 bits
      into[2 * i + 1] = handle / HIGH;
    }
    this.#block.setPointer(execute.device, device?.handle ?? 0);
    const error = this.#execute(this.#block.address);
    if (error !== 0) this.#api.check(error, "XLA_RUNTIME");
    const from = this.#outputs.words;
    for (let i = 0; i < this.outputCount; i++)
      outputs[i] = (from[2 * i] as number) + (from[2 * i + 1] as number) * HIGH;
  }

  /** Frees the program. Calls that are under way finish first. */
  close(): void {
    if (this.#handle === 0) return;
    const handle = this.#handle;
    this.#handle = 0;
    this.#inputCount = -1; // sends the next call to #resize, which refuses it
    this.#onClose();
    this.#api.query("loadedExecutableDestroy", handle);
  }

  #resize(count: number): void {
    if (this.#handle === 0) throw freed("the program");
    this.#inputs = new Block(count * 8);
    this.#block.pointTo(execute.argumentLists, listsOf(this.#inputs, this.#devices, count));
    this.#block.setPointer(execute.argumentCount, count / this.#devices);
    this.#inputCount = count;
  }
}

/** PJRT takes one list for each device: they stand in one block, one behind the other. */
function listsOf(all: Block, devices: number, count: number): Block {
  const lists = new Block(devices * 8);
  lists.pointTo(0, all);
  for (let i = 1; i < devices; i++) lists.setPointer(i * 8, all.address + (i * count * 8) / devices);
  return lists;
}

function freed(what: string): EspalierError {
  return new EspalierError("XLA_RUNTIME", `${what} of this call has been freed`, {
    fix: "do not use a tensor or a program after it was disposed",
  });
}
