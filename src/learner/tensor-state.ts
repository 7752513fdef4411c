import {
  describeDifference,
  EspalierError,
  flatten,
  leafPaths,
  sameShape,
  unflatten,
} from "../core/index.ts";
import {
  compile,
  type Device,
  type HostArray,
  put,
  Tensor,
  type TensorType,
  type Value,
} from "../engine/index.ts";
import type { Stateful, StateTree } from "../state/index.ts";
import { type Group, Packing } from "./packing.ts";

export interface TensorStateOptions {
  readonly device: Device;
  /** Whether steps take over the memory of what they are given: what comes in and goes out is copied then. */
  readonly donated: boolean;
  /** Whether the first tensors are somebody else's. */
  readonly lent: boolean;
}

/**
 * A tree of tensors that training replaces step by step: parameters, an optimizer's state. It is kept as the few arrays
 * of its packing. What was replaced is freed at once, unless somebody outside holds it too.
 */
export class TensorState<T> implements Stateful {
  /** How the tree is kept; `T` is the tree while tracing. */
  readonly packing: Packing<T>;
  readonly #name: string;
  readonly #device: Device;
  readonly #donated: boolean;
  readonly #join: (leaves: readonly Tensor[]) => readonly Tensor[];
  readonly #part: (arrays: readonly Tensor[]) => readonly (readonly Tensor[])[];
  #arrays: readonly Tensor[] = [];
  /** Whether somebody outside holds the arrays of single leaves. */
  #lent = false;
  #restored = false;

  constructor(name: string, tree: unknown, { device, donated, lent }: TensorStateOptions) {
    this.#name = name;
    this.#device = device;
    this.#donated = donated;
    const packing = new Packing<T>(tree, device.engine === "xla");
    this.packing = packing;
    const { groups } = packing;
    // What is not packed passes through only where it must be copied.
    const moved = groups.filter(({ alone }) => !alone || donated);
    const where = { engine: device.engine, device: device.index };
    const join = compile(
      (leaves: readonly Value[]) => moved.map((group) => packing.packGroup(group, (i) => leaves[i] as Value)),
      { ...where, name: `packing ${name}` },
    );
    const part = compile(
      (arrays: readonly Value[]) => moved.map((group, k) => packing.unpackGroup(group, arrays[k] as Value)),
      { ...where, name: `unpacking ${name}` },
    );
    this.#join = (leaves) => {
      const joined = moved.length === 0 ? [] : (join(leaves) as unknown as Tensor[]);
      return groups.map((group) => {
        const k = moved.indexOf(group);
        return (k < 0 ? leaves[group.leaves[0] as number] : joined[k]) as Tensor;
      });
    };
    this.#part = (arrays) => {
      const inputs = arrays.filter((_, k) => moved.includes(groups[k] as (typeof groups)[number]));
      const parts = moved.length === 0 ? [] : (part(inputs) as unknown as Tensor[][]);
      return groups.map((group, g) => parts[moved.indexOf(group)] ?? [arrays[g] as Tensor]);
    };
    const leaves: unknown[] = [];
    flatten(tree, leaves);
    this.#take(leaves as Tensor[], lent);
  }

  /** The arrays that programs take, for the packing to unpack. */
  get now(): readonly Tensor[] {
    return this.#arrays;
  }

  /** Whether a state has been set. */
  get restored(): boolean {
    return this.#restored;
  }

  /** Takes what a step gave. */
  replace(next: readonly Tensor[]): void {
    this.#free();
    this.#arrays = next;
    this.#lent = false;
  }

  #free(): void {
    if (this.#donated) return;
    this.#arrays.forEach((tensor, k) => {
      if (!this.#lent || this.packing.groups[k]?.alone === false) tensor.dispose();
    });
  }

  /** Tensors never change, so those given out are frozen as they are. */
  getState(): StateTree {
    const parts = this.#part(this.#arrays);
    const leaves: Tensor[] = [];
    this.packing.groups.forEach((group, k) => {
      group.leaves.forEach((leaf, i) => {
        leaves[leaf] = parts[k]?.[i] as Tensor;
      });
    });
    this.#lent = true;
    return unflatten(this.packing.shape, leaves) as StateTree;
  }

  /** The numbers of one leaf as they are now, by its place among the leaves. Compiles nothing. */
  async readLeaf(leaf: number): Promise<HostArray> {
    const { groups, types } = this.packing;
    const k = groups.findIndex(({ leaves }) => leaves.includes(leaf));
    const { leaves } = groups[k] as Group;
    const sizes = leaves.slice(0, leaves.indexOf(leaf)).map((before) => (types[before] as TensorType).size);
    const from = sizes.reduce((sum, size) => sum + size, 0);
    const numbers = await (this.#arrays[k] as Tensor).read();
    return numbers.subarray(from, from + (types[leaf] as TensorType).size);
  }

  setState(state: StateTree): void {
    const given: unknown[] = [];
    const shape = flatten(state, given);
    if (!sameShape(shape, this.packing.shape))
      throw this.#mismatch(
        `it is built unlike the present one: ${describeDifference(shape, this.packing.shape)}`,
      );
    const paths = leafPaths(shape);
    const leaves = given.map((leaf, i) =>
      this.#placed(leaf, this.packing.types[i] as TensorType, paths[i] as string),
    );
    this.#free();
    this.#take(leaves, true);
    this.#restored = true;
  }

  #take(leaves: readonly Tensor[], lent: boolean): void {
    this.#arrays = this.#join(leaves);
    this.#lent = lent && !this.#donated;
  }

  #placed(leaf: unknown, type: TensorType, path: string): Tensor {
    if (leaf instanceof Tensor && leaf.type === type && leaf.device === this.#device) return leaf;
    const data = leaf instanceof Tensor ? (leaf.type === type ? leaf.readSync() : undefined) : leaf;
    if (ArrayBuffer.isView(data) && (data as HostArray).length === type.size)
      return put(data as HostArray, {
        shape: type.shape,
        dtype: type.dtype,
        engine: this.#device.engine,
        device: this.#device.index,
      });
    const found = ArrayBuffer.isView(leaf) ? `${(leaf as HostArray).length} numbers` : String(leaf);
    throw this.#mismatch(`${path} is ${found}, and the present one ${type.text}`);
  }

  #mismatch(what: string): EspalierError {
    return new EspalierError("STATE_MISMATCH", `the state of ${this.#name} does not fit: ${what}`, {
      fix: "restore what the same model and optimizer saved",
    });
  }
}
