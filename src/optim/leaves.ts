import {
  describeDifference,
  didYouMean,
  EspalierError,
  flatten,
  leafPaths,
  option,
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

/**
 * Which parameters: a path pattern, several, or a function of path and value. In a pattern `*` stands for one segment
 * or a part of one and `**` for any number of them; what a pattern names counts with everything below it, so that
 * `encoder` and `encoder.*` are all of the encoder. A leading `!` takes away; a list of such patterns alone starts
 * from everything.
 */
export type Mask = string | readonly string[] | ((path: string, value: Value) => boolean);

/** Applies a mask to each leaf. A pattern that matches nothing is an error. */
export function matchMask(kind: string, mask: Mask, leaves: Leaves): readonly boolean[] {
  if (typeof mask === "function") return leaves.paths.map((path, i) => mask(path, leaves.values[i] as Value));
  const patterns = typeof mask === "string" ? [mask] : mask;
  const parsed = patterns.map((pattern) => {
    const away = pattern.startsWith("!");
    const matches = matcher(away ? pattern.slice(1) : pattern);
    if (!leaves.paths.some(matches)) throw noMatch(kind, away ? pattern.slice(1) : pattern, leaves.paths);
    return { away, matches };
  });
  const start = parsed.every(({ away }) => away);
  return leaves.paths.map((path) =>
    parsed.reduce((chosen, { away, matches }) => (matches(path) ? !away : chosen), start),
  );
}

/** True if a pattern names a path or a branch above it. */
export function matcher(pattern: string): (path: string) => boolean {
  const parts = segments(pattern).map((segment) => (segment === "**" ? segment : oneSegment(segment)));
  return (path) => matchFrom(parts, 0, segments(path), 0);
}

/** `layers[0].w` as `layers`, `0`, `w`. */
const segments = (path: string): readonly string[] =>
  path
    .replace(/\[([^\]]*)\]/g, ".$1")
    .split(".")
    .filter((segment) => segment !== "");

function oneSegment(segment: string): RegExp {
  const literal = segment.split("*").map((text) => text.replace(/[\\^$.+?()[\]{}|]/g, "\\$&"));
  return new RegExp(`^${literal.join(".*")}$`);
}

function matchFrom(
  parts: readonly (RegExp | "**")[],
  i: number,
  path: readonly string[],
  at: number,
): boolean {
  const part = parts[i];
  if (part === undefined) return true;
  if (part === "**")
    return i === parts.length - 1 || path.some((_, k) => k >= at && matchFrom(parts, i + 1, path, k));
  const segment = path[at];
  return segment !== undefined && part.test(segment) && matchFrom(parts, i + 1, path, at + 1);
}

/** The error about a pattern that matches nothing. */
export function noMatch(kind: string, pattern: string, paths: readonly string[]): EspalierError {
  return new EspalierError(
    "PATH_UNKNOWN",
    `${kind}: "${pattern}" matches no parameter${didYouMean(pattern, branches(paths))}`,
    { fix: `the paths are ${listed(paths)}; * stands for one segment, ** for any number` },
  );
}

/** All paths with the branches above them. */
function branches(paths: readonly string[]): ReadonlySet<string> {
  const all = new Set(paths);
  for (const path of paths)
    for (const { index } of path.matchAll(/[.[]/g)) if (index > 0) all.add(path.slice(0, index));
  return all;
}

/** A mask as a question about paths; everything where there is no mask. */
export function masked(kind: string, mask: Mask | undefined, leaves: Leaves): (path: string) => boolean {
  if (mask === undefined) return () => true;
  const chosen = matchMask(kind, mask, leaves);
  const among = new Set(leaves.paths.filter((_, i) => chosen[i]));
  return (path) => among.has(path);
}

/** Rows that the tables of several optimizers share. */
export const notNegative = option.number({ min: 0 });
export const positive = option.number({ above: 0 });
export const fraction = option.number({ min: 0, below: 1 });
export const finite = option.number({});
export const wholePositive = option.integer({ min: 1 });
export const flag = option.flag({});
export const patterns = option.made<Mask>(
  "a path pattern, a list of them, or a function of path and value",
  (value) => typeof value === "function" || [value].flat().every((one) => typeof one === "string"),
  {},
);
