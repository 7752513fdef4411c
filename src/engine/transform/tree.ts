import { flatten, leafPaths, type TreeShape, unflatten } from "../../core/index.ts";
import { asValue } from "../np/operands.ts";
import type { Value } from "../trace/value.ts";

/** A tree of values taken apart: what transformations work on. */
export interface Flat {
  readonly shape: TreeShape;
  readonly values: readonly Value[];
}

/** Takes a tree of values, tensors and numbers apart. */
export function flat(tree: unknown): Flat {
  const leaves: unknown[] = [];
  const shape = flatten(tree, leaves);
  return { shape, values: leaves.map((leaf) => asValue(leaf)) };
}

/** Puts values back into a tree. */
export const grow = (shape: TreeShape, values: readonly Value[]): unknown => unflatten(shape, values);

/** The place of a leaf in messages: ` at "layers[0].w"`; nothing where the tree is one value. */
export function placeText({ shape }: Flat, leaf: number): string {
  const path = leafPaths(shape)[leaf];
  return path ? ` at "${path}"` : "";
}
