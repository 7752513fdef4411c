import { EspalierError } from "../core/index.ts";
import { type DType, put, type Shape, type Tensor } from "../engine/index.ts";
import { type StateTree, walkState } from "../state/index.ts";
import { decodeJson, type Json, parseJson, unknownMark } from "./json.ts";
import type { Header, TensorEntry } from "./safetensors/header.ts";
import { toHost, typeOf } from "./safetensors/tensors.ts";
import { type LeafKind, leafName } from "./snapshot.ts";
import type { StoredFile } from "./store/store.ts";
import { treeKey } from "./write-component.ts";

/** The tree of a component as its file keeps it, and what each leaf in the data is. */
export interface SavedTree {
  readonly tree: Json;
  readonly leaves: ReadonlyMap<
    string,
    { readonly kind: LeafKind; readonly dtype: DType; readonly shape: Shape }
  >;
}

/** Reads a component's tree. A tree that does not match the tensors of its file, one for one, is an error. */
export function treeOf(header: Header): SavedTree {
  const text = header.metadata[treeKey];
  if (text === undefined) throw misfit("the file holds tensors, and no component's state");
  const tree = parseJson(text);
  const leaves = new Map<string, { kind: LeafKind; dtype: DType; shape: Shape }>();
  decodeJson(tree, (kind, path) => {
    if (kind !== "tensor" && kind !== "array") throw unknownMark(kind);
    const name = leafName(path);
    const entry = header.tensors.get(name);
    if (!entry) throw misfit(`the state names "${name}", and the file has no such tensor`);
    if (leaves.has(name)) throw misfit(`the state names "${name}" twice`);
    const { dtype, shape } = typeOf(entry);
    if (kind === "array" && (shape.length !== 1 || !arrayTypes.includes(dtype)))
      throw misfit(`"${name}" is an array in memory, and ${dtype}[${shape.join(",")}] in the file`);
    leaves.set(name, { kind, dtype, shape });
  });
  for (const name of header.tensors.keys())
    if (!leaves.has(name)) throw misfit(`the file has a tensor "${name}", and the state does not name it`);
  return { tree, leaves };
}

/** The element types of arrays in memory. */
const arrayTypes: readonly DType[] = ["f32", "f64", "i32", "u32", "u8"];

const misfit = (what: string): EspalierError => new EspalierError("CHECKPOINT_DAMAGED", what);

/** The types of a component's tensors by name. Its arrays in memory are left out. */
export function tensorTypes({ leaves }: SavedTree): ReadonlyMap<string, string> {
  const types = new Map<string, string>();
  for (const [name, { kind, dtype, shape }] of leaves)
    if (kind === "tensor") types.set(name, `${dtype}[${shape.join(",")}]`);
  return types;
}

/** A tensor of the run by its name: what is restored under that name goes to its device. */
export type Placement = (name: string) => Tensor | undefined;

/** Tensors of at least this size are read one by one, smaller ones together. */
const large = 1024 * 1024;

/** Reads a component's state. Gives the sha256 of the whole file too, except with `unchecked`. */
export async function readComponent(
  file: StoredFile,
  header: Header,
  options: { readonly placed: Placement; readonly unchecked: boolean },
  { tree, leaves }: SavedTree = treeOf(header),
): Promise<{ readonly state: StateTree; readonly sha256: string | undefined }> {
  const groups = grouped([...header.tensors.values()]);
  const values = new Map<string, unknown>();
  // The memory is used again: arrays that stay are copied out of it; putting on a device copies by itself.
  const take = (bytes: Uint8Array, group: readonly TensorEntry[]): void => {
    const from = startOf(group);
    for (const entry of group) {
      const { name } = entry;
      const part = bytes.subarray(entry.start - from, entry.end - from);
      if (leaves.get(name)?.kind === "array") values.set(name, toHost(entry, new Uint8Array(part)));
      else {
        const present = options.placed(name);
        const on = present && { device: present.device, axis: present.shardedAxis };
        values.set(name, put(toHost(entry, part), { ...typeOf(entry), ...on }));
      }
    }
  };
  let sha256: string | undefined;
  if (options.unchecked) {
    const memory = new Uint8Array(groups.reduce((most, group) => Math.max(most, bytesOf(group)), 0));
    for (const group of groups) {
      const into = memory.subarray(0, bytesOf(group));
      take(await file.read(header.dataStart + startOf(group), bytesOf(group), into), group);
    }
  } else
    sha256 = await file.readHashed([header.dataStart, ...groups.map(bytesOf)], (bytes, i) => {
      if (i > 0) take(bytes, groups[i - 1] as readonly TensorEntry[]);
    });
  const state = decodeJson(tree, (_, path) => values.get(leafName(path)));
  return { state: state as StateTree, sha256 };
}

const startOf = (group: readonly TensorEntry[]): number => group[0]?.start ?? 0;
const bytesOf = (group: readonly TensorEntry[]): number => (group.at(-1)?.end ?? 0) - startOf(group);

function grouped(entries: readonly TensorEntry[]): readonly (readonly TensorEntry[])[] {
  const groups: TensorEntry[][] = [];
  let bytes = large;
  for (const entry of entries) {
    const size = entry.end - entry.start;
    if (groups.length === 0 || size >= large || bytes + size > large) {
      groups.push([entry]);
      bytes = size;
    } else {
      groups.at(-1)?.push(entry);
      bytes += size;
    }
  }
  return groups;
}

/** A leaf of a component's state as its file keeps it: numbers in the data, or a plain value. */
export type SavedLeaf =
  | {
      readonly path: string;
      readonly kind: LeafKind;
      readonly dtype: DType;
      readonly shape: Shape;
      readonly bytes: number;
    }
  | {
      readonly path: string;
      readonly kind: "value";
      /** `empty array` and `empty object` where there are no entries. */
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
  // Stands for leaves in the data, so that paths and order are those of every other state.
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
