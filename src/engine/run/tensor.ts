import { EspalierError } from "../../core/index.ts";
import type { DType } from "../trace/dtype.ts";
import { userError } from "../trace/location.ts";
import type { Shape, TensorType } from "../trace/type.ts";
import { type Backend, type Device, deviceText, type HostMemory, type Native } from "./backend.ts";
import type { HostArray } from "./host.ts";
import { type Held, noteMade, release, releaseSome, releaseSoon, turnIfDue } from "./memory.ts";

const collected = new FinalizationRegistry<Held>(releaseSoon);

/**
 * Watching for a tensor's collection costs more than making it, and most tensors of a training loop are used up by
 * the next step. So the newest small ones are simply held, and watched only once others have taken their place.
 */
const newest: (Tensor | undefined)[] = Array.from({ length: 256 }, () => undefined);
let nextPlace = 0;
const smallBytes = 64 * 1024;

/**
 * Numbers on a device: what compiled functions take and give. Immutable. Freed when collected, or at once by
 * `dispose` or `using`.
 *
 * @example
 * ```ts
 * using x = put([[1, 2], [3, 4]]);
 * const numbers = await x.read(); // Float32Array [1, 2, 3, 4]
 * ```
 */
export class Tensor implements Disposable {
  readonly type: TensorType;
  readonly device: Device;
  readonly #held: Held;
  #gone: "" | "disposed" | "donated" = "";
  #watched = false;

  /** @internal Tensors are made by `put` and by compiled functions. */
  constructor(native: Native, type: TensorType, device: Device, backend: Backend) {
    this.type = type;
    this.device = device;
    this.#held = { backend, bytes: type.bytes, native };
    releaseSome();
    noteMade(type.bytes);
    if (type.bytes > smallBytes) this.#watch();
    else {
      const oldest = newest[nextPlace];
      if (oldest) oldest.#watch();
      newest[nextPlace] = this;
      nextPlace = (nextPlace + 1) % newest.length;
    }
  }

  #watch(): void {
    if (this.#gone !== "") return;
    this.#watched = true;
    collected.register(this, this.#held, this.#held);
  }

  get shape(): Shape {
    return this.type.shape;
  }
  get dtype(): DType {
    return this.type.dtype;
  }
  get size(): number {
    return this.type.size;
  }
  get ndim(): number {
    return this.type.shape.length;
  }
  get isDisposed(): boolean {
    return this.#gone !== "";
  }
  /** @internal On a mesh: the axis along which it is sharded over the devices; undefined where each has all of it. */
  get shardedAxis(): number | undefined {
    const { backend, native } = this.#held;
    return native === undefined ? undefined : backend.shardedAxis?.(native);
  }
  /** @internal */
  get backend(): Backend {
    return this.#held.backend;
  }

  /** @internal The engine's buffer; an error where the tensor is gone. `argument` names it in that error. */
  native(argument = "this tensor"): Native {
    if (this.#gone !== "") throw this.#goneError(argument);
    return this.#held.native;
  }

  #goneError(argument: string): EspalierError {
    return this.#gone === "donated"
      ? userError(
          "TENSOR_DONATED",
          `${argument} (${this.type.text}) was donated to an earlier call, which has taken over its memory`,
          "use that call's result instead, or leave the argument out of `donate`",
        )
      : userError(
          "TENSOR_DISPOSED",
          `${argument} (${this.type.text}) has been disposed`,
          "dispose it after its last use",
        );
  }

  /** The numbers in row-major order, copied to JavaScript's memory. */
  read(): Promise<HostArray> {
    try {
      const data = this.#held.backend.read(this.native(), this.type);
      const turn = turnIfDue();
      return turn ? turn.then(() => data) : data;
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /** The one number of a tensor with one element. */
  async item(): Promise<number> {
    if (this.size !== 1)
      throw new EspalierError("NOT_A_SCALAR", `item: ${this.type.text} has ${this.size} elements`, {
        fix: "use read() for tensors of more than one element",
      });
    return (await this.read())[0] as number;
  }

  /** Like `read`, holding up the event loop until the numbers are there. */
  readSync(): HostArray {
    return this.#held.backend.readSync(this.native(), this.type);
  }

  /**
   * @internal Fills `target` with the tensor's bytes from a position on, as safetensors files hold them; undefined where
   * the engine can only `read` all of it.
   */
  readBytes(from: number, target: Uint8Array): Promise<void> | undefined {
    const { backend } = this.#held;
    if (!backend.readBytes) return undefined;
    // It may be disposed while it is waited for, hence asked for once more.
    return backend.ready(this.native()).then(() => backend.readBytes?.(this.native(), from, target));
  }

  /**
   * @internal The tensor's bytes where they lie, as `readBytes` gives them, once they have been computed; undefined
   * where the engine can only copy them. They stay until they are released, also where the tensor is disposed before.
   */
  async inPlace(): Promise<HostMemory | undefined> {
    const { backend } = this.#held;
    if (!backend.inPlace) return undefined;
    await backend.ready(this.native());
    return backend.inPlace(this.native(), this.type);
  }

  /** Resolves once the numbers have been computed. */
  async ready(): Promise<void> {
    await this.#held.backend.ready(this.native());
  }

  /** Frees the memory now. Doing it twice does no harm. */
  dispose(): void {
    if (this.#gone === "") this.#leave("disposed");
  }
  [Symbol.dispose](): void {
    this.dispose();
  }

  /** @internal Marks the memory as taken over by a call. For compiled functions. */
  donated(): void {
    this.#leave("donated");
  }

  #leave(how: "disposed" | "donated"): void {
    this.#gone = how;
    if (this.#watched) collected.unregister(this.#held);
    release(this.#held);
  }

  toString(): string {
    return `Tensor(${this.type.text} on ${deviceText(this.device)})`;
  }
}
