import type { DType } from "../trace/dtype.ts";
import type { Program } from "../trace/program.ts";
import type { TensorType } from "../trace/type.ts";
import type { HostArray } from "./host.ts";

/** The engines there are, by name. */
export type EngineName = "wasm" | "xla";

/** Something an engine computes on. */
export interface Device {
  readonly engine: EngineName;
  readonly index: number;
  /** `cpu`, `cuda`, ... as the engine calls it. */
  readonly kind: string;
  readonly description: string;
  /** Of several devices that work as one. */
  readonly mesh?: Mesh;
}

/** Several devices, each of which computes a part of the same programs. */
export interface Mesh {
  readonly count: number;
  /** The optimizer's state is sharded over them. */
  readonly shardOptimizer: boolean;
}

/** A device in messages: `xla:0`, or `xla:0-3` for several that work as one. */
export const deviceText = ({ engine, index, mesh }: Device): string =>
  `${engine}:${mesh ? `0-${mesh.count - 1}` : index}`;

/** A buffer's bytes where they lie in this process's memory, for its threads to read. They stay until `release`. */
export interface HostMemory {
  readonly address: number;
  /** The module whose `view(address, bytes)` gives an ArrayBuffer of them, in any thread. */
  readonly viewer: string;
  /** Doing it twice does no harm. */
  release(): void;
}

/** An engine's buffer, opaque to everything else. */
export type Native = unknown;

export interface CompileRequest {
  readonly device: Device;
  /** Inputs whose memory the call may take over. */
  readonly donated: readonly boolean[];
  /** Same bits on every run, where the device would not give them by itself. */
  readonly deterministic: boolean;
  /** Compiler flags in addition to those the engine chooses. */
  readonly flags: Readonly<Record<string, boolean | number | string>>;
  /** Name shown while it is being compiled. */
  readonly name: string;
  /** On a mesh: the axes along which inputs are sharded over its devices; undefined where each has all of one. */
  readonly shards?: readonly (number | undefined)[];
}

/** A compiled program on a device. */
export interface Executable {
  /** Runs it: fills `outputs` with new buffers. Donated inputs must not be used afterwards, but are still to be freed. */
  run(inputs: readonly Native[], outputs: Native[]): void;
}

/** An engine as users see it: what it is called, what it runs on, what it has. */
export interface Engine {
  readonly name: EngineName;
  readonly description: string;
  readonly devices: readonly Device[];
  /** Why it has not got an element type, or undefined where it has. */
  lacks(dtype: DType): string | undefined;
}

/** The interface of an engine: `wasm` and `xla` are two of these. */
export interface Backend extends Engine {
  compile(program: Program, request: CompileRequest): Executable;
  /** The program as the engine reads it, for people. */
  text(program: Program): string;
  /** Copies numbers to a device. On a mesh to all of it, or sharded along an axis. */
  put(data: HostArray, type: TensorType, device: Device, axis?: number): Native;
  /** A copy of the numbers; waits for them without holding up the event loop for long. */
  read(native: Native, type: TensorType): Promise<HostArray>;
  /** The same, holding the event loop until they are there. */
  readSync(native: Native, type: TensorType): HostArray;
  /**
   * Fills `target` with a buffer's bytes from a position on: row-major, little-endian, in the elements' own width. Does
   * not hold up the event loop. The numbers must have been computed: `ready` says when. Engines that keep numbers in
   * another way have not got it.
   */
  readBytes?(native: Native, from: number, target: Uint8Array): Promise<void>;
  /**
   * The bytes of a buffer that has been computed, as `readBytes` gives them, where they lie. Freeing the buffer does not
   * take them away before they are released. Undefined where they are not in this process's memory.
   */
  inPlace?(native: Native, type: TensorType): HostMemory | undefined;
  /** Resolves once the numbers have been computed. */
  ready(native: Native): Promise<void>;
  free(native: Native): void;
  /** Several of its devices as one; an error where there are fewer. Engines with one device have not got it. */
  mesh?(count: number): Backend;
  /** On a mesh: the axis along which a buffer is sharded over its devices; undefined where each has all of it. */
  shardedAxis?(native: Native): number | undefined;
}
