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
import type { NamedArrays } from "./rollout.ts";

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

/** Puts weights on a device, where they have the names and shapes of some parameters. */
export class WeightsReceiver {
  readonly #shape: TreeShape;
  readonly #types: readonly TensorType[];
  readonly #where: NonNullable<Parameters<typeof put>[1]>;

  constructor(like: Params<Tensor>) {
    const leaves: unknown[] = [];
    this.#shape = flatten(like, leaves);
    const tensors = leaves as readonly Tensor[];
    this.#types = tensors.map(({ type }) => type);
    const device = tensors[0]?.device;
    this.#where = device ? { device } : {};
  }

  params(weights: Params<Tensor> | NamedArrays): Params<Tensor> {
    const paths = leafPaths(this.#shape);
    const given = isNamedArrays(weights) ? weights : undefined;
    if (!given) {
      const leaves: unknown[] = [];
      const names = leafPaths(flatten(weights, leaves));
      const tensors = leaves as readonly Tensor[];
      compare(paths, this.#types, names, (name) => tensors[names.indexOf(name)]?.shape);
      const { device } = this.#where;
      if (typeof device !== "object") return weights as Params<Tensor>;
      // Those of a trainer on several devices are on all of them.
      return treeMap((tensor: Tensor) => onDevice(tensor, device), weights) as Params<Tensor>;
    }
    compare(paths, this.#types, Object.keys(given), (name) => given[name]?.shape);
    const tensors = paths.map((path, i) => {
      const { dtype, shape } = this.#types[i] as TensorType;
      return put((given[path] as NamedArrays[string]).data, { ...this.#where, dtype, shape });
    });
    return unflatten(this.#shape, tensors) as Params<Tensor>;
  }
}

/** Refuses parameters that have not the names and shapes of others. */
export function checkSameModel(what: string, like: Params<Tensor>, params: Params<Tensor>): void {
  const [known, given]: [unknown[], unknown[]] = [[], []];
  const paths = leafPaths(flatten(like, known));
  const names = leafPaths(flatten(params, given));
  const types = (known as readonly Tensor[]).map(({ type }) => type);
  compare(paths, types, names, (name) => (given as readonly Tensor[])[names.indexOf(name)]?.shape, what);
}

/** True for arrays by name; parameters are trees of tensors. */
const isNamedArrays = (weights: Params<Tensor> | NamedArrays): weights is NamedArrays =>
  Object.values(weights).every(
    (value) => isPlainObject(value) && ArrayBuffer.isView((value as { readonly data?: unknown }).data),
  );

/** Refuses weights of another model, naming the first that differs. */
function compare(
  paths: readonly string[],
  types: readonly TensorType[],
  given: readonly string[],
  shapeOf: (name: string) => readonly number[] | undefined,
  whose = "these weights are",
): void {
  const missing = paths.find((path) => !given.includes(path));
  const extra = given.find((name) => !paths.includes(name));
  const other = paths.findIndex((path, i) => String(shapeOf(path)) !== String(types[i]?.shape));
  if (missing === undefined && extra === undefined && other < 0) return;
  const what =
    missing !== undefined
      ? `"${missing}" is missing`
      : extra !== undefined
        ? `"${extra}" is not known`
        : `"${paths[other]}" has the shape [${shapeOf(paths[other] as string)}], and not [${types[other]?.shape}]`;
  throw new EspalierError("WEIGHTS_INVALID", `${whose} of another model: ${what}`, {
    fix: "build its model with the same options as the one that is trained",
  });
}
