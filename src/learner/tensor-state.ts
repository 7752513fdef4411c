import {
  describeDifference,
  EspalierError,
  flatten,
  isPlainObject,
  leafPaths,
  sameShape,
  type TreeShape,
  unflatten,
} from "../core/index.ts";
import {
  type CompileOptions,
  compile,
  type Device,
  type Feed,
  type Fetch,
  type HostArray,
  np,
  put,
  Spec,
  type Specs,
  shard,
  Tensor,
  type TensorType,
  type Value,
} from "../engine/index.ts";
import type { Stateful, StateTree } from "../state/index.ts";

/**
 * A tree of tensors that programs read and replace, kept on the device between calls as the arrays of its packing.
 * `T` is the tree while tracing.
 */
export interface DeviceState<T> {
  readonly packing: Pick<Packing<T>, "pack" | "unpack">;
  /** The arrays that programs take. */
  readonly now: readonly Tensor[];
  /** Programs that replace it may use its memory for their results. */
  readonly donated: boolean;
  /** Takes the arrays that a program gave. */
  replace(next: readonly Tensor[]): void;
}

type DeviceStates = Readonly<Record<string, DeviceState<unknown>>>;

/** The trees of states while tracing, by the same names. */
export type StateTrees<S extends DeviceStates> = {
  readonly [K in keyof S]: S[K] extends DeviceState<infer T> | undefined ? T : never;
};

/**
 * Compiles a function of states and inputs that gives the next states and a result. A call takes the inputs, replaces
 * the states in `updates` and gives the result; what is donated follows from the states.
 *
 * @example
 * ```ts
 * const step = compileUpdate({ updates: { params } }, (now, { by }: { readonly by: Value }) => {
 *   const next = treeMap((p: Value) => p.sub(by), now.params);
 *   return [{ params: next }, { norm: globalNorm(next) }];
 * });
 * const { norm } = step({ by: 0.1 }); // params are the next ones now
 * ```
 */
export function compileUpdate<
  S extends DeviceStates,
  I,
  const R,
  F extends DeviceStates = Record<never, never>,
>(
  { updates, reads }: { readonly updates: S; readonly reads?: F },
  fn: (now: StateTrees<S> & StateTrees<F>, inputs: I) => readonly [next: StateTrees<S>, result: R],
  options: Omit<CompileOptions, "donate"> = {},
): UpdateProgram<I, R> {
  const updated: readonly (readonly [string, DeviceState<unknown>])[] = Object.entries(updates);
  const all = [...updated, ...Object.entries<DeviceState<unknown>>(reads ?? {})];
  const program = compile(
    (arrays: Readonly<Record<string, readonly Value[]>>, inputs: I) => {
      const trees = all.map(([name, { packing }]) => [
        name,
        packing.unpack(arrays[name] as readonly Value[]),
      ]);
      const [next, result] = fn(Object.fromEntries(trees), inputs);
      // Packed at the edges of a call and not within its loops, where it would cost an update a fifth of its time.
      const packed = updated.map(([name, { packing }]) => [name, packing.pack(next[name])] as const);
      return { next: Object.fromEntries(packed), result };
    },
    { ...options, donate: updated.filter(([, { donated }]) => donated).map(([name]) => name) },
  );
  const arrays = () => Object.fromEntries(all.map(([name, state]) => [name, state.now]));
  const call = (inputs: Feed<I>): Fetch<R> => {
    const { next, result } = program(arrays(), inputs);
    for (const [name, state] of updated) state.replace(next[name] as readonly Tensor[]);
    return result;
  };
  return Object.assign(call, { lower: (inputs: Feed<I>) => program.lower(arrays(), inputs) });
}

export interface UpdateProgram<I, R> {
  (inputs: Feed<I>): Fetch<R>;
  /** The program as its engine reads it, see {@link compile}. Compiles nothing. */
  lower(inputs: Feed<I>): string;
}

/** Leaves that stand in one array, one after the other; or one leaf alone, in its own shape. */
interface Group {
  /** Positions among the leaves. */
  readonly leaves: readonly number[];
  readonly alone: boolean;
  /** On a mesh: the axis along which the array is sharded over the devices. */
  readonly axis?: number | undefined;
}

/** A leaf of at most this many elements is small: moving it costs less than having one more array. */
const small = 1024;

/**
 * How a tree of tensors is kept between calls. XLA's loops copy every array they start with, and each costs
 * microseconds however small it is: a small net with Adam has twenty, and in one call of one update they took more
 * time than the update. So small leaves of one element type share an array.
 */
export class Packing<T> {
  readonly groups: readonly Group[];
  readonly shape: TreeShape;
  readonly types: readonly TensorType[];

  constructor(tree: unknown, enabled: boolean, devices?: number) {
    const leaves: unknown[] = [];
    this.shape = flatten(tree, leaves);
    this.types = (leaves as Tensor[]).map(({ type }) => type);
    const together = new Map<string, number[]>();
    const alone: number[] = [];
    this.types.forEach(({ size, dtype }, i) => {
      if (!enabled || size > small) alone.push(i);
      else together.set(dtype, [...(together.get(dtype) ?? []), i]);
    });
    this.groups = [
      ...[...together.values()].map((leaves) => ({ leaves, alone: leaves.length === 1 })),
      ...alone.map((leaf) => {
        const axis = devices && shardAxis(this.types[leaf] as TensorType, devices);
        return { leaves: [leaf], alone: true, axis };
      }),
    ];
  }

  /** Inside a program: the arrays of a tree. */
  pack(tree: T): readonly Value[] {
    const leaves: unknown[] = [];
    flatten(tree, leaves);
    return this.groups.map((group) => this.packGroup(group, (i) => leaves[i] as Value));
  }

  packGroup({ leaves, alone, axis }: Group, leaf: (i: number) => Value): Value {
    const [first] = leaves as readonly [number];
    return alone ? sharded(leaf(first), axis) : np.concatenate(leaves.map((i) => np.reshape(leaf(i), [-1])));
  }

  /** Inside a program: the tree of such arrays. */
  unpack(arrays: readonly Value[]): T {
    const parts = this.groups.map((group, k) => this.unpackGroup(group, arrays[k] as Value));
    return unflatten(this.shape, this.ungroup(parts)) as T;
  }

  unpackGroup({ leaves, alone, axis }: Group, array: Value): readonly Value[] {
    if (alone) return [sharded(array, axis)];
    let from = 0;
    return leaves.map((leaf) => {
      const { shape, size } = this.types[leaf] as TensorType;
      const part = np.reshape(np.dynamicSlice(array, [from], [size]), shape);
      from += size;
      return part;
    });
  }

  /** The leaves of all groups, in the tree's order. */
  ungroup<L>(parts: readonly (readonly L[])[]): readonly L[] {
    const leaves: L[] = [];
    this.groups.forEach((group, k) => {
      group.leaves.forEach((leaf, i) => {
        leaves[leaf] = parts[k]?.[i] as L;
      });
    });
    return leaves;
  }
}

/** The axis along which some devices share an array: the first that they divide. Undefined for small ones. */
export function shardAxis({ shape, size }: TensorType, devices: number): number | undefined {
  const axis = size > small ? shape.findIndex((n) => n % devices === 0) : -1;
  return axis < 0 ? undefined : axis;
}

/** Inside a program: the value, sharded along an axis if there is one. */
const sharded = (value: Value, axis: number | undefined): Value =>
  axis === undefined ? value : shard(value, axis);

export interface TensorStateOptions {
  readonly device: Device;
  /** Programs take over the memory of its tensors: what comes in and goes out is copied then. */
  readonly donated: boolean;
  /** The first tensors belong to the caller, and are not freed. Default: false. */
  readonly borrowed?: boolean;
  /** The devices of a mesh share large leaves instead of each having all of them. Default: false. */
  readonly sharded?: boolean | undefined;
}

/**
 * Parameters, an optimizer's state, environments: a tree of tensors that programs replace step by step. Tensors that
 * were replaced are freed at once, except those that were given out or borrowed.
 */
export class TensorState<T> implements Stateful, DeviceState<T> {
  readonly packing: Packing<T>;
  readonly donated: boolean;
  readonly #name: string;
  readonly #device: Device;
  readonly #join: (leaves: readonly Tensor[]) => readonly Tensor[];
  readonly #part: (arrays: readonly Tensor[]) => readonly (readonly Tensor[])[];
  /** Called when a state has been set. */
  onSet: (() => void) | undefined;
  #arrays: readonly Tensor[] = [];
  /** The arrays of single leaves are held outside too. */
  #borrowed = false;
  #restored = false;
  /** States that were given out, and whether one had been set before. */
  readonly #given = new WeakMap<object, boolean>();

  constructor(
    name: string,
    tree: unknown,
    { device, donated, borrowed = false, sharded = false }: TensorStateOptions,
  ) {
    this.#name = name;
    this.#device = device;
    this.donated = donated;
    const packing = new Packing<T>(tree, device.engine === "xla", sharded ? device.mesh?.count : undefined);
    this.packing = packing;
    const { groups } = packing;
    // Single leaves pass through, except where they must be copied.
    const moved = groups.filter(({ alone }) => !alone || donated);
    const packed = groups.filter((group) => moved.includes(group) || group.axis !== undefined);
    const where = { engine: device.engine, device };
    const join = compile(
      (leaves: readonly Value[]) =>
        packed.map((group) => packing.packGroup(group, (i) => leaves[i] as Value)),
      { ...where, name: `packing ${name}` },
    );
    const part = compile(
      (arrays: readonly Value[]) => moved.map((group, k) => packing.unpackGroup(group, arrays[k] as Value)),
      { ...where, name: `unpacking ${name}` },
    );
    this.#join = (leaves) => {
      const joined = packed.length === 0 ? [] : join(leaves);
      return groups.map((group) => {
        const k = packed.indexOf(group);
        return (k < 0 ? leaves[group.leaves[0] as number] : joined[k]) as Tensor;
      });
    };
    this.#part = (arrays) => {
      const inputs = arrays.filter((_, k) => moved.includes(groups[k] as Group));
      const parts = moved.length === 0 ? [] : part(inputs);
      return groups.map((group, g) => parts[moved.indexOf(group)] ?? [arrays[g] as Tensor]);
    };
    const leaves: unknown[] = [];
    flatten(tree, leaves);
    this.#take(leaves as Tensor[], borrowed);
  }

  get now(): readonly Tensor[] {
    return this.#arrays;
  }

  /** The shapes and element types of its tree. */
  get specs(): Specs<T> {
    const { shape, types } = this.packing;
    return unflatten(
      shape,
      types.map((type) => new Spec(type)),
    ) as Specs<T>;
  }

  /** A state has been set. */
  get restored(): boolean {
    return this.#restored;
  }

  replace(next: readonly Tensor[]): void {
    this.#free();
    this.#arrays = next;
    this.#borrowed = false;
  }

  #free(): void {
    if (this.donated) return;
    this.#arrays.forEach((tensor, k) => {
      if (!this.#borrowed || this.packing.groups[k]?.alone === false) tensor.dispose();
    });
  }

  /** Tensors never change, so the tree that is given out stays as it is. */
  getState(): StateTree {
    const leaves = this.packing.ungroup(this.#part(this.#arrays));
    this.#borrowed = true;
    const tree = unflatten(this.packing.shape, leaves) as StateTree;
    if (isPlainObject(tree)) this.#given.set(tree, this.#restored);
    return tree;
  }

  /** The numbers of one leaf as they are now, by its position among the leaves. Compiles nothing. */
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
    const leaves = given.map((leaf, i) => this.#placed(leaf, i, paths[i] as string));
    this.#free();
    this.#take(leaves, true);
    // One of its own that comes back leaves it as it was then.
    this.#restored = (isPlainObject(state) ? this.#given.get(state) : undefined) ?? true;
    this.onSet?.();
  }

  #take(leaves: readonly Tensor[], borrowed: boolean): void {
    this.#arrays = this.#join(leaves);
    this.#borrowed = borrowed && !this.donated;
  }

  #placed(leaf: unknown, i: number, path: string): Tensor {
    const type = this.packing.types[i] as TensorType;
    if (leaf instanceof Tensor && leaf.type === type && leaf.device === this.#device) return leaf;
    const data = leaf instanceof Tensor ? (leaf.type === type ? leaf.readSync() : undefined) : leaf;
    if (ArrayBuffer.isView(data) && (data as HostArray).length === type.size)
      return put(data as HostArray, {
        shape: type.shape,
        dtype: type.dtype,
        device: this.#device,
        axis: this.packing.groups.find(({ leaves }) => leaves.includes(i))?.axis,
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
