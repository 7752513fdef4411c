import type { Value } from "../engine/index.ts";
import { type Leaves, leavesLike, leavesOf, treeOf } from "./leaves.ts";

/** The tree of some of the leaves, at the paths they had; empty where there are none. */
export function part(leaves: Leaves, chosen: readonly boolean[]): unknown {
  return treeOf(
    leaves.shape,
    leaves.values.map((value, i) => (chosen[i] ? value : undefined)),
  );
}

/** The same part of gradients and of parameters. */
export function parts(kind: string, params: Leaves, grads: unknown, chosen: readonly boolean[]) {
  const given = leavesLike(kind, params, grads, "gradients");
  return { params: part(params, chosen), grads: part(given, chosen) };
}

/** Values of a part's leaves by path. */
export function byPath(kind: string, tree: unknown): ReadonlyMap<string, Value> {
  const leaves = leavesOf(kind, tree, "updates");
  return new Map(leaves.paths.map((path, i) => [path, leaves.values[i] as Value]));
}
