import { flatten, type TreeShape, unflatten } from "../core/index.ts";
import { np, type Tensor, type TensorType, type Value } from "../engine/index.ts";

/** Leaves that stand in one array, one after the other; or one leaf alone, in its own shape. */
export interface Group {
  /** Positions among the leaves. */
  readonly leaves: readonly number[];
  readonly alone: boolean;
}

/** Up to so many elements a leaf is small: moving it costs less than having one more array. */
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

  constructor(tree: unknown, enabled: boolean) {
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
      ...alone.map((leaf) => ({ leaves: [leaf], alone: true })),
    ];
  }

  /** Inside a program: the arrays of a tree. */
  pack(tree: T): readonly Value[] {
    const leaves: unknown[] = [];
    flatten(tree, leaves);
    return this.groups.map((group) => this.packGroup(group, (i) => leaves[i] as Value));
  }

  packGroup({ leaves, alone }: Group, leaf: (i: number) => Value): Value {
    const [first] = leaves as readonly [number];
    return alone ? leaf(first) : np.concatenate(leaves.map((i) => np.reshape(leaf(i), [-1])));
  }

  /** Inside a program: the tree of such arrays. */
  unpack(arrays: readonly Value[]): T {
    const leaves: Value[] = [];
    this.groups.forEach((group, k) => {
      const parts = this.unpackGroup(group, arrays[k] as Value);
      group.leaves.forEach((leaf, i) => {
        leaves[leaf] = parts[i] as Value;
      });
    });
    return unflatten(this.shape, leaves) as T;
  }

  unpackGroup({ leaves, alone }: Group, array: Value): readonly Value[] {
    if (alone) return [array];
    let from = 0;
    return leaves.map((leaf) => {
      const { shape, size } = this.types[leaf] as TensorType;
      const part = np.reshape(np.dynamicSlice(array, [from], [size]), shape);
      from += size;
      return part;
    });
  }
}
