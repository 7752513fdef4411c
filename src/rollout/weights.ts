import {
  EspalierError,
  flatten,
  isPlainObject,
  leavesByPath,
  type TreeShape,
  treeMap,
  unflatten,
} from "../core/index.ts";
import { type HostArray, onDevice, put, read, type Tensor, type TensorType } from "../engine/index.ts";
import type { Params } from "../nn/index.ts";
import type { NamedArrays, ShapedArray } from "./rollout.ts";

/** Parameters on the host, by their paths. */
export async function arraysOf(params: Params<Tensor>): Promise<NamedArrays> {
  const tensors = leavesByPath<Tensor>(params);
  const data: readonly HostArray[] = await read([...tensors.values()]);
  const arrays = Array.from(tensors, ([path, { shape }], i) => [path, { data: data[i] as HostArray, shape }]);
  return Object.fromEntries(arrays);
}

type Where = NonNullable<Parameters<typeof put>[1]>;

/** Puts weights on a device, where they have the names and shapes of some parameters, and keeps the newest. */
export class WeightsReceiver {
  readonly #kind: string;
  readonly #tree: TreeShape;
  readonly #known: ReadonlyMap<string, TensorType>;
  readonly #where: Where;
  #newest: Params<Tensor> | undefined;

  constructor(kind: string, like: Params<Tensor>) {
    this.#kind = kind;
    this.#tree = flatten(like, []);
    const tensors = leavesByPath<Tensor>(like);
    this.#known = new Map(Array.from(tensors, ([path, { type }]) => [path, type]));
    const [first] = tensors.values();
    this.#where = first ? { device: first.device } : {};
  }

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

/** A copy, so that each tensor has one owner, of parameters of the same model as others. */
export function copyOf(
  whose: string,
  params: Params<Tensor>,
  like: Params<Tensor>,
  where: Where,
): Params<Tensor> {
  checkSame(whose, leavesByPath<Tensor>(like), leavesByPath<Tensor>(params));
  const copied = (tensor: Tensor): Tensor =>
    put(tensor.readSync(), { ...where, shape: tensor.shape, dtype: tensor.dtype });
  return treeMap(copied, params);
}

/** Arrays by name as they are, and tensors of a tree by their paths. */
function leavesOf(weights: Params<Tensor> | NamedArrays): ReadonlyMap<string, Tensor | ShapedArray> {
  const isNamed = Object.values(weights).every(
    (value) => isPlainObject(value) && ArrayBuffer.isView((value as { readonly data?: unknown }).data),
  );
  if (isNamed) return new Map(Object.entries(weights as NamedArrays));
  return leavesByPath(weights);
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
