import type { DType, Shape } from "../../engine/index.ts";
import { type StateTree, walkState } from "../../state/index.ts";
import type { Header } from "../safetensors/index.ts";
import { leafName } from "./image.ts";
import { decodeJson } from "./json.ts";
import { treeOf } from "./read.ts";

/** A leaf of a component's state as its file keeps it: numbers in the data, or a plain value. */
export type SavedLeaf =
  | {
      readonly path: string;
      readonly kind: "tensor" | "array";
      readonly dtype: DType;
      readonly shape: Shape;
      readonly bytes: number;
    }
  | {
      readonly path: string;
      readonly kind: "value";
      /** Arrays and objects without entries are told in words. */
      readonly value: string | number | boolean | null;
    };

/**
 * Every leaf of a component in a fixed order, from its file's header alone. The path of a tensor or array is the name
 * by which `readTensor` gives its numbers.
 *
 * @example
 * ```ts
 * for (const leaf of savedLeaves(await readHeader(file))) console.log(leaf.path, leaf.kind);
 * ```
 */
export function savedLeaves(header: Header): readonly SavedLeaf[] {
  const saved = treeOf(header);
  // Stands for what lies in the data, so that paths and order are those of every other state.
  const placeholder = new Uint8Array(0);
  const state = decodeJson(saved.tree, () => placeholder);
  const leaves: SavedLeaf[] = [];
  walkState(state as StateTree, (place, node) => {
    const path = leafName([], place);
    const entry = header.tensors.get(path);
    const leaf = saved.leaves.get(path);
    if (entry && leaf) leaves.push({ path, ...leaf, bytes: entry.end - entry.start });
    else if (node.kind === "value") leaves.push({ path, kind: "value", value: node.value });
    else if (node.kind === "empty") leaves.push({ path, kind: "value", value: `empty ${node.value}` });
  });
  return leaves;
}
