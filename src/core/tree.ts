import { EspalierError } from "./error.ts";

/**
 * Nested arrays and plain objects with leaves of type `L`: parameters, optimizer states, batches.
 * Anything that is not an array or a plain object is a leaf; `null` and `undefined` are empty trees.
 */
export type Tree<L> = L | null | undefined | readonly Tree<L>[] | { readonly [key: string]: Tree<L> };

/** The shape of a tree without its leaves. Object keys are kept in sorted order, so that insertion order never matters. */
export type TreeShape =
  | { readonly kind: "leaf" }
  | { readonly kind: "empty"; readonly value: null | undefined }
  | { readonly kind: "array"; readonly items: readonly TreeShape[] }
  | { readonly kind: "object"; readonly keys: readonly string[]; readonly items: readonly TreeShape[] };

const LEAF: TreeShape = { kind: "leaf" };

/** True for a plain object, whose entries are branches, and not an instance of a class. */
export function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** Appends the leaves of `tree` to `leaves` in a fixed order and returns its shape. */
export function flatten(tree: unknown, leaves: unknown[]): TreeShape {
  if (tree === null || tree === undefined) return { kind: "empty", value: tree };
  if (Array.isArray(tree)) return { kind: "array", items: tree.map((item) => flatten(item, leaves)) };
  if (isPlainObject(tree)) {
    const keys = Object.keys(tree).sort();
    return { kind: "object", keys, items: keys.map((key) => flatten(tree[key], leaves)) };
  }
  leaves.push(tree);
  return LEAF;
}

/** Builds the tree of the given shape from leaves in flatten's order, starting at `from`. */
export function unflatten(shape: TreeShape, leaves: readonly unknown[], from = 0): unknown {
  let next = from;
  const build = (part: TreeShape): unknown => {
    switch (part.kind) {
      case "leaf":
        return leaves[next++];
      case "empty":
        return part.value;
      case "array":
        return part.items.map(build);
      case "object":
        return Object.fromEntries(part.keys.map((key, i) => [key, build(part.items[i] as TreeShape)]));
    }
  };
  return build(shape);
}

/** Number of leaves of a tree of this shape. */
export function leafCount(shape: TreeShape): number {
  if (shape.kind === "leaf") return 1;
  if (shape.kind === "empty") return 0;
  return shape.items.reduce((sum, item) => sum + leafCount(item), 0);
}

/** Appends the path of every leaf in flatten's order, e.g. `layers[0].w`. */
export function leafPaths(shape: TreeShape, prefix = "", paths: string[] = []): string[] {
  if (shape.kind === "leaf") paths.push(prefix);
  else if (shape.kind === "array")
    shape.items.forEach((item, i) => leafPaths(item, `${prefix}[${i}]`, paths));
  else if (shape.kind === "object")
    shape.keys.forEach((key, i) =>
      leafPaths(shape.items[i] as TreeShape, prefix === "" ? key : `${prefix}.${key}`, paths),
    );
  return paths;
}

/** The leaves of a tree by their paths, in flatten's order. */
export function leavesByPath<L>(tree: unknown): Map<string, L> {
  const leaves: unknown[] = [];
  const paths = leafPaths(flatten(tree, leaves));
  return new Map(paths.map((path, i) => [path, leaves[i] as L]));
}

/** True if two trees have the same structure. */
export function sameShape(a: TreeShape, b: TreeShape): boolean {
  if (a === b) return true;
  if (a.kind !== b.kind) return false;
  if (a.kind === "leaf" || b.kind === "leaf") return true;
  if (a.kind === "empty" || b.kind === "empty") return a.kind === b.kind;
  if (a.items.length !== b.items.length) return false;
  if (a.kind === "object" && b.kind === "object" && a.keys.some((key, i) => key !== b.keys[i])) return false;
  return a.items.every((item, i) => sameShape(item, b.items[i] as TreeShape));
}

/** Says in words where two tree shapes first differ, for error messages. */
export function describeDifference(a: TreeShape, b: TreeShape, path = ""): string | undefined {
  const here = path === "" ? "the top" : path;
  if (a.kind !== b.kind) return `${here} is ${describe(a)} in one and ${describe(b)} in the other`;
  if (a.kind === "array" && b.kind === "array") {
    if (a.items.length !== b.items.length)
      return `${here} has ${a.items.length} entries in one and ${b.items.length} in the other`;
    for (let i = 0; i < a.items.length; i++) {
      const found = describeDifference(a.items[i] as TreeShape, b.items[i] as TreeShape, `${path}[${i}]`);
      if (found) return found;
    }
  }
  if (a.kind === "object" && b.kind === "object") {
    const lone = [...a.keys.filter((k) => !b.keys.includes(k)), ...b.keys.filter((k) => !a.keys.includes(k))];
    if (lone.length > 0) return `${here} has ${lone.map((k) => `"${k}"`).join(", ")} in only one of the two`;
    for (let i = 0; i < a.keys.length; i++) {
      const key = a.keys[i] as string;
      const inner = path === "" ? key : `${path}.${key}`;
      const found = describeDifference(a.items[i] as TreeShape, b.items[i] as TreeShape, inner);
      if (found) return found;
    }
  }
  return undefined;
}

function describe(shape: TreeShape): string {
  if (shape.kind === "leaf") return "a value";
  if (shape.kind === "empty") return String(shape.value);
  return shape.kind === "array" ? "an array" : "an object";
}

/** All leaves of a tree, in flatten's order. */
export function treeLeaves<L>(tree: Tree<L>): L[] {
  const leaves: unknown[] = [];
  flatten(tree, leaves);
  return leaves as L[];
}

/** A tree of the same type with every leaf of type `L` replaced by type `M`. */
export type MapTree<T, L, M> = T extends L
  ? M
  : T extends null | undefined
    ? T
    : T extends readonly unknown[] | Record<string, unknown> | object
      ? { [K in keyof T]: MapTree<T[K], L, M> }
      : T;

/**
 * Applies `fn` to every leaf, and to the leaves at the same place in further trees of the same shape.
 *
 * @example
 * ```ts
 * const next = treeMap((p, g) => p.sub(g.mul(0.1)), params, grads);
 * ```
 */
export function treeMap<T, R = unknown>(
  // biome-ignore lint/suspicious/noExplicitAny: the leaves' type cannot be inferred through the tree
  fn: (leaf: any, ...others: any[]) => R,
  tree: T,
  ...others: readonly unknown[]
): T {
  const leaves: unknown[] = [];
  const shape = flatten(tree, leaves);
  const columns = others.map((other) => {
    const column: unknown[] = [];
    const otherShape = flatten(other, column);
    if (!sameShape(shape, otherShape))
      throw new EspalierError("TREE_MISMATCH", `treeMap: ${describeDifference(shape, otherShape)}`, {
        fix: "pass trees with the same keys and lengths",
      });
    return column;
  });
  const mapped = leaves.map((leaf, i) => fn(leaf, ...columns.map((column) => column[i])));
  return unflatten(shape, mapped) as T;
}
