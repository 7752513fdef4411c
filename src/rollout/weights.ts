import {
  EspalierError,
  flatten,
  isPlainObject,
  leafPaths,
  type TreeShape,
  treeMap,
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
  readonly #types: readonly TensorType[];
  readonly #known: Shapes;
  readonly #where: NonNullable<Parameters<typeof put>[1]>;
  #newest: Params<Tensor> | undefined;

  constructor(kind: string, like: Params<Tensor>) {
    const leaves: unknown[] = [];
    this.#kind = kind;
    this.#tree = flatten(like, leaves);
    this.#types = (leaves as readonly Tensor[]).map(({ type }) => type);
    this.#known = shapesOf(like);
    const device = (leaves as readonly Tensor[])[0]?.device;
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
    checkSame("these weights are", this.#known, shapesOf(weights));
    this.#newest = isNamedArrays(weights) ? this.#placed(weights) : this.#moved(weights);
    return this.#newest;
  }

  #placed(arrays: NamedArrays): Params<Tensor> {
    const tensors = leafPaths(this.#tree).map((path, i) => {
      const { dtype, shape } = this.#types[i] as TensorType;
      return put((arrays[path] as ShapedArray).data, { ...this.#where, dtype, shape });
    });
    return unflatten(this.#tree, tensors) as Params<Tensor>;
  }

  /** Those of a trainer on several devices are on all of them. */
  #moved(params: Params<Tensor>): Params<Tensor> {
    const { device } = this.#where;
    if (typeof device !== "object") return params;
    return treeMap((tensor: Tensor) => onDevice(tensor, device), params) as Params<Tensor>;
  }
}

/** Refuses parameters that have not the names and shapes of others. */
export const checkSameModel = (what: string, like: Params<Tensor>, params: Params<Tensor>): void =>
  checkSame(what, shapesOf(like), shapesOf(params));

/** True for arrays by name; parameters are trees of tensors. */
const isNamedArrays = (weights: Params<Tensor> | NamedArrays): weights is NamedArrays =>
  Object.values(weights).every(
    (value) => isPlainObject(value) && ArrayBuffer.isView((value as { readonly data?: unknown }).data),
  );

/** Shapes as texts, by the paths of what has them. */
type Shapes = ReadonlyMap<string, string>;

function shapesOf(weights: Params<Tensor> | NamedArrays): Shapes {
  const leaves: unknown[] = [];
  const named = isNamedArrays(weights);
  const paths = named ? Object.keys(weights) : leafPaths(flatten(weights, leaves));
  const shaped = (named ? Object.values(weights) : leaves) as readonly Pick<ShapedArray, "shape">[];
  return new Map(paths.map((path, i) => [path, String(shaped[i]?.shape)]));
}

/** Refuses weights of another model, naming the first that differs. */
function checkSame(whose: string, known: Shapes, given: Shapes): void {
  for (const path of new Set([...known.keys(), ...given.keys()])) {
    const [wanted, found] = [known.get(path), given.get(path)];
    if (wanted === found) continue;
    const what =
      found === undefined
        ? "is missing"
        : wanted === undefined
          ? "is not known"
          : `has the shape [${found}], and not [${wanted}]`;
    throw new EspalierError("WEIGHTS_INVALID", `${whose} of another model: "${path}" ${what}`, {
      fix: "build its model with the same options as the one that is trained",
    });
  }
}
