import { flatten, type TreeShape, unflatten } from "../core/index.ts";
import { evalShape, type Feed, type Fetch, np, put, type Tensor, type Value } from "../engine/index.ts";
import type { Params } from "../nn/index.ts";
import type { Learner } from "./learner.ts";
import { compileUpdate, type StateTrees } from "./tensor-state.ts";

/** Ranks that add up numbers, seen from one of them. */
export interface RankSum {
  readonly rank: number;
  readonly ranks: number;
  /** The sum of the arrays of all ranks, added in the order of ranks: the same bits on every rank. */
  sum<A extends Float32Array | Float64Array>(name: string, own: A): Promise<A>;
}

type States = StateTrees<Learner["states"]>;
type Ramps = Readonly<Record<string, Value>>;

/** The two halves of an update, and what is summed between them: a tree of values `G`. */
export interface RankUpdate<G, I, A, R> {
  readonly name: string;
  /** Inside a program: this rank's share of the gradients, and what else is summed. */
  readonly gradients: (params: Params, inputs: I, ramps: Ramps) => G;
  /** The same without a share; its numbers are not looked at. For ranks that have no rows of an update. */
  readonly shapes?: RankUpdate<G, I, A, R>["gradients"];
  /** Inside a program: the step with the sums. */
  readonly apply: (now: States, sums: G, ramps: Ramps, inputs: A) => readonly [next: States, result: R];
}

/** Inputs of every such update: the ramps' numbers. */
interface WithRamps {
  readonly ramps: Value | null;
}

/**
 * Compiles updates that several ranks do together. A call is one update:
 *
 * ```
 * gradients   a program: this rank's share, as one array
 * sum         of all ranks, in their order                        on the host, by `ranks`
 * apply       a program: one step of the optimizer, the same on all ranks
 * ```
 *
 * Rates are those of the main rank: hooks may change them there, and clocks differ.
 */
export function compileRankUpdate<G, I extends WithRamps, A, R>(
  learner: Learner,
  ranks: RankSum,
  { name, gradients, shapes, apply }: RankUpdate<G, I, A, R>,
): (inputs: Feed<I>, applied: Feed<A>) => Promise<Fetch<R>> {
  const zero = () => np.zeros([], { dtype: "i32" });
  const share =
    (of: RankUpdate<G, I, A, R>["gradients"]) =>
    (params: Params, inputs: I): Summed<G> => {
      const ramps = learner.rates.at(inputs.ramps, zero());
      const numbers = Object.entries(ramps).map(([name, value]) => [
        name,
        ranks.rank === 0 ? value : np.zerosLike(value),
      ]);
      return { tree: of(params, inputs, ramps), ramps: Object.fromEntries(numbers) };
    };
  const options = learner.compileOptions(`${name}: gradients`);
  let packing: SumPacking<Summed<G>> | undefined;
  const packed = compileUpdate(
    { updates: {}, reads: { params: learner.params } },
    ({ params }, inputs: I) => [
      {},
      (packing as SumPacking<Summed<G>>).pack(share(gradients)(params, inputs)),
    ],
    options,
  );
  const step = compileUpdate(
    { updates: learner.states },
    (now, { sums, applied }: { readonly sums: readonly Value[]; readonly applied: A }) => {
      const { tree, ramps } = (packing as SumPacking<Summed<G>>).unpack(sums);
      return apply(now, tree, ramps, applied);
    },
    learner.compileOptions(name),
  );

  const own = async (inputs: Feed<I>, known: SumPacking<Summed<G>>): Promise<Float32Array | Float64Array> => {
    if (shapes) return known.zeros();
    // A value that is traced is a tensor outside.
    const tensor = packed(inputs) as unknown as Tensor;
    const numbers = await tensor.read();
    tensor.dispose();
    return numbers as Float32Array | Float64Array;
  };
  return async (inputs, applied) => {
    packing ??= new SumPacking(evalShape(share(shapes ?? gradients), learner.params.specs, inputs));
    const sums = packing.place(await ranks.sum(name, await own(inputs, packing)), learner.where);
    const result = step({ sums, applied } as Parameters<typeof step>[0]);
    for (const sum of sums) sum.dispose();
    return result as Fetch<R>;
  };
}

/** The values that are summed: a task's tree, and the main rank's ramps, to which the others add zeros. */
interface Summed<G> {
  readonly tree: G;
  readonly ramps: Ramps;
}

/** A tree of values as one array: of f64 where one of them is, else of f32. */
class SumPacking<T> {
  readonly #shape: TreeShape;
  readonly #types: readonly {
    readonly shape: readonly number[];
    readonly dtype: Value["dtype"];
    readonly size: number;
  }[];
  readonly #dtype: "f32" | "f64";

  constructor(specs: unknown) {
    const leaves: { readonly type: Value["type"] }[] = [];
    this.#shape = flatten(specs, leaves as unknown[]);
    this.#types = leaves.map(({ type: { shape, dtype, size } }) => ({ shape, dtype, size }));
    this.#dtype = this.#types.some(({ dtype }) => dtype === "f64") ? "f64" : "f32";
  }

  zeros(): Float32Array | Float64Array {
    const length = this.#types.reduce((sum, { size }) => sum + size, 0);
    return this.#dtype === "f64" ? new Float64Array(length) : new Float32Array(length);
  }

  /** Inside a program. */
  pack(tree: T): Value {
    const leaves: unknown[] = [];
    flatten(tree, leaves);
    return np.concatenate((leaves as readonly Value[]).map((leaf) => leaf.astype(this.#dtype).reshape([-1])));
  }

  /** The leaves on the device, each in an array of its own, as one process has them: slices may be rounded differently. */
  place(array: Float32Array | Float64Array, where: Learner["where"]): readonly Tensor[] {
    let from = 0;
    return this.#types.map(({ shape, size }) => {
      from += size;
      return put(array.subarray(from - size, from), { ...where, shape });
    });
  }

  /** Inside a program: the tree of such leaves. */
  unpack(leaves: readonly Value[]): T {
    return unflatten(
      this.#shape,
      this.#types.map(({ dtype }, i) => (leaves[i] as Value).astype(dtype)),
    ) as T;
  }
}
