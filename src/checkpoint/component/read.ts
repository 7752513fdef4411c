import { EspalierError } from "../../core/index.ts";
import type { DType, Shape } from "../../engine/index.ts";
import type { StateTree } from "../../state/index.ts";
import { type Header, type TensorEntry, toHost, typeOf } from "../safetensors/index.ts";
import type { StoredFile } from "../store/index.ts";
import { type Placement, putLeaf } from "./device.ts";
import { type LeafKind, leafName } from "./image.ts";
import { decodeJson, type Json, parseJson, unknownMark } from "./json.ts";
import { treeKey } from "./write.ts";

/** The tree of a component as its file keeps it, and what each leaf that lies in the data is. */
export interface SavedTree {
  readonly tree: Json;
  readonly leaves: ReadonlyMap<
    string,
    { readonly kind: LeafKind; readonly dtype: DType; readonly shape: Shape }
  >;
}

/** Reads a component's tree. A tree that does not fit the tensors of its file, one for one, is an error. */
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

/** The types of the tensors of a component by name, its arrays in memory left out. */
export function tensorTypes({ leaves }: SavedTree): ReadonlyMap<string, string> {
  const types = new Map<string, string>();
  for (const [name, { kind, dtype, shape }] of leaves)
    if (kind === "tensor") types.set(name, `${dtype}[${shape.join(",")}]`);
  return types;
}

/** Pieces of at least this size are read on their own, into memory of their own; smaller tensors together. */
const large = 1024 * 1024;

/** Reads a component's state. Gives the sha256 of the whole file too, unless `unchecked`. */
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
      const part = bytes.subarray(entry.start - from, entry.end - from);
      const { name } = entry;
      const onDevice = leaves.get(name)?.kind === "tensor";
      const data = toHost(entry, onDevice ? part : new Uint8Array(part));
      values.set(name, onDevice ? putLeaf(name, { ...typeOf(entry), data }, options.placed) : data);
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
    if (size >= large || bytes + size > large) {
      groups.push([entry]);
      bytes = size;
    } else {
      groups.at(-1)?.push(entry);
      bytes += size;
    }
  }
  return groups;
}
