import { EspalierError } from "../../core/index.ts";
import type { StateTree } from "../../state/index.ts";
import { type Header, type TensorEntry, toHost, typeOf } from "../safetensors/index.ts";
import type { StoredFile } from "../store/index.ts";
import { type Placement, putLeaf } from "./device.ts";
import { type LeafKind, leafName } from "./image.ts";
import { decodeJson, type Json } from "./json.ts";
import { treeKey } from "./write.ts";

/** The tree of a component as its file keeps it. */
export function treeOf(header: Header): Json {
  const text = header.metadata[treeKey];
  if (text === undefined)
    throw new EspalierError("CHECKPOINT_DAMAGED", "the file holds tensors, and no component's state");
  return JSON.parse(text) as Json;
}

/** The types of the tensors of a component by name, its arrays in memory left out. */
export function tensorTypes(header: Header): ReadonlyMap<string, string> {
  const types = new Map<string, string>();
  decodeJson(treeOf(header), (kind, path) => {
    const name = leafName(path);
    const entry = header.tensors.get(name);
    if (kind === ("tensor" satisfies LeafKind) && entry) {
      const { dtype, shape } = typeOf(entry);
      types.set(name, `${dtype}[${shape.join(",")}]`);
    }
    return null;
  });
  return types;
}

/** Pieces of at least this size are read on their own, into memory of their own; smaller tensors together. */
const large = 1024 * 1024;

/** Reads a component's state. Gives the sha256 of the whole file too, unless `unchecked`. */
export async function readComponent(
  file: StoredFile,
  header: Header,
  options: { readonly placed: Placement; readonly unchecked: boolean },
): Promise<{ readonly state: StateTree; readonly sha256: string | undefined }> {
  const kinds = new Map<string, string>();
  const tree = treeOf(header);
  decodeJson(tree, (kind, path) => kinds.set(leafName(path), kind));
  const groups = grouped([...header.tensors.values()]);
  const values = new Map<string, unknown>();
  // The memory is used again: arrays that stay are copied out of it; putting on a device copies by itself.
  const take = (bytes: Uint8Array, group: readonly TensorEntry[]): void => {
    const from = startOf(group);
    for (const entry of group) {
      const part = bytes.subarray(entry.start - from, entry.end - from);
      const { name } = entry;
      const onDevice = kinds.get(name) === "tensor";
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
  const state = decodeJson(tree, (_, path) => {
    const name = leafName(path);
    if (values.has(name)) return values.get(name);
    throw new EspalierError(
      "CHECKPOINT_DAMAGED",
      `the state names "${name}", and the file has no such tensor`,
    );
  });
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
