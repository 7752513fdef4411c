import { type HostArray, read, type Tensor } from "../engine/index.ts";
import type { StateTree } from "./stateful.ts";
import { type StateNode, walkState } from "./walk.ts";

/** A leaf of a state with its place, e.g. `optimizer.m[0].w`. Tensors have been read. */
export interface StateEntry {
  readonly path: string;
  /** Element type and shape of arrays (`f32[2,3]`), the kind of value otherwise. */
  readonly kind: string;
  readonly value: HostArray | string | number | boolean | null;
}

/** All leaves of a state in a fixed order (keys sorted), tensors read in one go. */
export async function flattenState(state: StateTree): Promise<readonly StateEntry[]> {
  const entries: StateEntry[] = [];
  const tensors: { readonly at: number; readonly tensor: Tensor }[] = [];
  walkState(state, (path, node) => {
    if (node.kind === "tensor") tensors.push({ at: entries.length, tensor: node.value });
    entries.push({ path, kind: kindOf(node), value: heldBy(node) });
  });
  const arrays = await read(tensors.map(({ tensor }) => tensor));
  tensors.forEach(({ at }, i) => {
    entries[at] = { ...(entries[at] as StateEntry), value: arrays[i] as HostArray };
  });
  return entries;
}

/** A leaf's kind in words: `f32[2,3]`, `number`, `null`, `empty array`. */
export function kindOf(node: StateNode): string {
  if (node.kind === "tensor") return node.value.type.text;
  if (node.kind === "array") return node.type;
  if (node.kind === "empty") return `empty ${node.value}`;
  return node.value === null ? "null" : typeof node.value;
}

const heldBy = (node: StateNode): StateEntry["value"] =>
  node.kind === "array" || node.kind === "value" ? node.value : null;
