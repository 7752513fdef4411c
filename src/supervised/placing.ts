import { checkNames, EspalierError, isPlainObject, treeLeaves, treeMap } from "../core/index.ts";
import { type ArrayTree, type Placement, placeArrays } from "../data/index.ts";
import { type Device, evalShape, type Spec, spec, Tensor } from "../engine/index.ts";
import { checkFinite } from "./labels.ts";
import type { PlacedData, SupervisedData } from "./task-options.ts";

export interface Placed {
  readonly data: PlacedData;
  readonly length: number;
  readonly device: Device;
}

/** Puts examples where they are trained on. Where nothing is said, that is where tensors among them are. */
export function placed(
  what: string,
  given: SupervisedData,
  place: Placement,
  withoutTargets: boolean,
): Placed {
  if (!isPlainObject(given) || given.x === undefined)
    throw new EspalierError("DATA_INVALID", `${what}: there is no x`, {
      fix: "give { x, y }: inputs and targets",
    });
  checkNames(what, given, ["x", "y"]);
  if (given.y === undefined && !withoutTargets)
    throw new EspalierError("DATA_INVALID", `${what}: there is no y`, {
      fix: "give targets, { x, y }, or the option targets, which makes them from x",
    });
  const tensor = treeLeaves<unknown>(given).find((leaf) => leaf instanceof Tensor);
  const where =
    place.engine === undefined && place.device === undefined && tensor instanceof Tensor
      ? { engine: tensor.device.engine, device: tensor.device.index }
      : place;
  const arrays: Record<string, ArrayTree> =
    given.y === undefined ? { x: given.x } : { x: given.x, y: given.y };
  const { tree, length } = placeArrays(what, arrays, where);
  checkFinite(what, given, length);
  const [first] = treeLeaves<Tensor>(tree as never) as [Tensor];
  return { data: tree as unknown as PlacedData, length, device: first.device };
}

/** What the model is told of its inputs: a batch of them. */
export function inputSpec(
  data: PlacedData,
  batchSize: number,
  targets: ((x: never) => { readonly x: unknown }) | undefined,
): unknown {
  const x: unknown = treeMap(
    ({ shape, dtype }: Tensor): Spec => spec([batchSize, ...shape.slice(1)], dtype),
    data.x,
  );
  return data.y === undefined && targets ? evalShape((inputs: never) => targets(inputs).x, x) : x;
}
