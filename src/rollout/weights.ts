import {
  EspalierError,
  flatten,
  isPlainObject,
  leafPaths,
  type TreeShape,
  unflatten,
} from "../core/index.ts";
import { type HostArray, onDevice, put, read, type Tensor, type TensorType } from "../engine/index.ts";
import type { Params } from "../nn/index.ts";
import type { NamedArrays, ShapedArray } from "./rollout.ts";

/** Parameters on the host, by their paths. */
export async function arraysOf(params: Params<Tensor>): Promise<NamedArrays> {
  const leaves: unknown[] = [];
  const paths = leafPaths(flatten(params, leaves));
  const tensors = leaves as Tensor[];
  const data: readonly HostArray[] = await read(tensors);
  return Object.fromEntries(
    tensors.map(({ shape }, i) => [paths[i] as string, { data: data[i] as HostArray, shape }]),
  );
}

/** Puts weights on a device, where they have the names and shapes of some parameters, and keeps the newest. */
export class WeightsReceiver {
  readonly #kind: string;
  readonly #tree: TreeShape;
  readonly #known: ReadonlyMap<string, TensorType>;
  readonly #where: NonNullable<Parameters<typeof put>[1]>;
  #newest: Params<Tensor> | undefined;

  constructor(kind: string, like: Params<Tensor>) {
    this.#kind = kind;
    this.#tree = flatten(like, []);
    const tensors = [...leavesOf(like)] as readonly (readonly [string, Tensor])[];
    this.#known = new Map(tensors.map(([path, { type }]) => [path, type]));
    const device = tensors[0]?.[1].device;
    this.#where = device ? { device } : {};
  }

  /** The newest weights. */
  get params(): Params<Tensor> {
    if (this.#newest) return this.#newest;
    throw new EspalierError("WEIGHTS_MISSING", `${this.#kind}: there are no weights yet`, {
      fix: "call setParams first; a RolloutWorker does when it has received some",
    });
  }

  take(weights: Params<Tensor> | NamedArrays): Params<Tensor> {
    const given = leavesOf(weights);
    checkSame("these weights are", this.#known, given);
    const { device } = this.#where;
    const tensors = Array.from(this.#known, ([path, { dtype, shape }]) => {
      const leaf = given.get(path) as Tensor | ShapedArray;
      if ("data" in leaf) return put(leaf.data, { ...this.#where, dtype, shape });
      // Those of a trainer on several devices are on all of them.
      return typeof device === "object" ? onDevice(leaf, device) : leaf;
    });
    this.#newest = unflatten(this.#tree, tensors) as Params<Tensor>;
    return this.#newest;
  }
}

/** Refuses parameters that have not the names and shapes of others. */
export const checkSameModel = (what: string, like: Params<Tensor>, params: Params<Tensor>): void =>
  checkSame(what, leavesOf(like), leavesOf(params));

/** Arrays by name as they are, and tensors of a tree by their paths. */
function leavesOf(weights: Params<Tensor> | NamedArrays): ReadonlyMap<string, Tensor | ShapedArray> {
  const isNamed = Object.values(weights).every(
    (value) => isPlainObject(value) && ArrayBuffer.isView((value as { readonly data?: unknown }).data),
  );
  if (isNamed) return new Map(Object.entries(weights as NamedArrays));
  const leaves: unknown[] = [];
  const paths = leafPaths(flatten(weights, leaves));
  return new Map(paths.map((path, i) => [path, leaves[i] as Tensor]));
}

type Shaped = ReadonlyMap<string, Pick<ShapedArray, "shape">>;

/** Refuses weights of another model, naming the first that differs. */
function checkSame(whose: string, known: Shaped, given: Shaped): void {
  for (const path of new Set([...known.keys(), ...given.keys()])) {
    const [wanted, found] = [known.get(path), given.get(path)];
    if (wanted && found && String(wanted.shape) === String(found.shape)) continue;
    const what = !found
      ? "is missing"
      : wanted
        ? `has the shape [${found.shape}], and not [${wanted.shape}]`
        : "is not known";
    throw new EspalierError("WEIGHTS_INVALID", `${whose} of another model: "${path}" ${what}`, {
      fix: "build its model with the same options as the one that is trained",
    });
  }
}
