import {
  describeDifference,
  EspalierError,
  flatten,
  leafPaths,
  sameShape,
  type TreeShape,
  unflatten,
} from "../core/index.ts";
import { isFloat, np, type Shape, Value } from "../engine/index.ts";

/** The leaves of a tree with their paths, and the shape to build a tree like it. */
export interface Leaves {
  readonly shape: TreeShape;
  readonly paths: readonly string[];
  readonly values: readonly Value[];
}

/** Takes a tree of traced floating-point values apart. */
export function leavesOf(kind: string, tree: unknown, what = "parameters"): Leaves {
  const values: unknown[] = [];
  const shape = flatten(tree, values);
  const paths = leafPaths(shape);
  values.forEach((value, i) => {
    if (!(value instanceof Value))
      throw new EspalierError("NOT_TRACING", `${kind}: the ${what} at "${paths[i]}" are no traced values`, {
        fix: "call it inside a compiled function: compile(optimizer.init)(params)",
      });
    if (!isFloat(value.dtype))
      throw new EspalierError(
        "PARAMETER_INVALID",
        `${kind}: the ${what} at "${paths[i]}" are ${value.type.text}; only floating-point parameters are trained`,
        { fix: "keep integers beside the parameters, not among them" },
      );
  });
  const twice = paths.find((path, i) => paths.indexOf(path) !== i);
  if (twice !== undefined)
    throw new EspalierError("PARAMETER_INVALID", `${kind}: two of the ${what} have the path "${twice}"`, {
      fix: "use names without dots and brackets",
    });
  return { shape, paths, values: values as Value[] };
}

/** The leaves of a tree that must be like the parameters: the same places, the same shapes. */
export function leavesLike(kind: string, params: Leaves, tree: unknown, what: string): Leaves {
  const leaves = leavesOf(kind, tree, what);
  if (!sameShape(leaves.shape, params.shape))
    throw new EspalierError(
      "TREE_MISMATCH",
      `${kind}: ${what} and parameters are built differently: ${describeDifference(leaves.shape, params.shape)}`,
      { fix: `pass ${what} with the paths of the parameters: ${listed(params.paths)}` },
    );
  leaves.values.forEach((value, i) => {
    const param = params.values[i] as Value;
    checkShape(kind, `the ${what}`, params.paths[i] as string, value, param.shape);
  });
  return leaves;
}

/** Refuses a value whose shape is not that of its place. */
export function checkShape(kind: string, what: string, path: string, value: Value, shape: Shape): void {
  if (value.shape.length === shape.length && value.shape.every((n, i) => n === shape[i])) return;
  throw new EspalierError(
    "SHAPE_MISMATCH",
    `${kind}: ${what} at "${path}" are [${value.shape.join(", ")}] where [${shape.join(", ")}] is needed`,
    { fix: "pass gradients, state and parameters that belong together" },
  );
}

/** A tree of the given shape of some leaves only: branches without any are left out, places in arrays are null. */
export function treeOf(shape: TreeShape, leaves: readonly (Value | undefined)[]): unknown {
  if (!leaves.includes(undefined)) return unflatten(shape, leaves);
  let next = 0;
  const build = (part: TreeShape): unknown => {
    if (part.kind === "leaf") return leaves[next++];
    if (part.kind === "empty") return undefined;
    const items = part.items.map(build);
    if (items.every((item) => item === undefined)) return undefined;
    if (part.kind === "array") return items.map((item) => item ?? null);
    return Object.fromEntries(
      part.keys.map((key, i) => [key, items[i]] as const).filter(([, item]) => item !== undefined),
    );
  };
  return build(shape);
}

/** In the precision moments are kept in: at least f32. */
export const wide = (value: Value): Value => (value.dtype === "f64" ? value : value.astype("f32"));

/** Zeros to start moments with. */
export const zeros = (like: Value, shape: Shape = like.shape): Value =>
  np.zeros(shape, { dtype: like.dtype === "f64" ? "f64" : "f32" });

/** Some of the paths there are, for errors. */
export function listed(paths: readonly string[], most = 12): string {
  const shown = paths.slice(0, most).join(", ");
  return paths.length > most ? `${shown} and ${paths.length - most} more` : shown;
}
