import { EspalierError, isPlainObject } from "../core/index.ts";
import { type HostArray, read, Tensor } from "../engine/index.ts";
import type { StateTree } from "./stateful.ts";

/** The end of a branch. Arrays and objects without entries are ends too, so that {} and [] differ. */
export type StateNode =
  | { readonly kind: "tensor"; readonly value: Tensor }
  | { readonly kind: "array"; readonly value: HostArray; readonly type: string }
  | { readonly kind: "value"; readonly value: string | number | boolean | null }
  | { readonly kind: "empty"; readonly value: "array" | "object" };

const elementTypes = new Map<unknown, string>([
  [Float32Array, "f32"],
  [Float64Array, "f64"],
  [Int32Array, "i32"],
  [Uint32Array, "u32"],
  [Uint8Array, "u8"],
]);

/** The most levels of a state: far more than any needs, few enough for every stack. */
export const deepest = 1000;

/**
 * Visits every leaf of a state in a fixed order (keys sorted) with its path, e.g. `optimizer.m[0].w`. Two places never
 * have the same path. A value that a state cannot hold is an error that names the place.
 */
export function walkState(state: StateTree, visit: (path: string, node: StateNode) => void): void {
  const above = new Set<unknown>();
  const walk = (value: unknown, path: string): void => {
    if (value instanceof Tensor) visit(path, { kind: "tensor", value });
    else if (ArrayBuffer.isView(value)) visit(path, arrayNode(value, path));
    else if (value === null || typeof value === "string" || typeof value === "boolean")
      visit(path, { kind: "value", value });
    else if (typeof value === "number") visit(path, { kind: "value", value });
    else if (Array.isArray(value)) {
      if (value.length === 0) visit(path, { kind: "empty", value: "array" });
      // Not forEach, which would pass over holes.
      enter(value, path, () => {
        for (let i = 0; i < value.length; i++) walk(value[i], `${path}[${i}]`);
      });
    } else if (isPlainObject(value)) {
      const keys = keysOf(value, path).sort();
      if (keys.length === 0) visit(path, { kind: "empty", value: "object" });
      enter(value, path, () => {
        for (const key of keys) walk(value[key], join(path, key));
      });
    } else throw invalid(path, describe(value));
  };
  const enter = (value: object, path: string, inside: () => void): void => {
    if (above.has(value)) throw invalid(path, "a state that contains itself");
    if (above.size === deepest) throw invalid(path, `more than ${deepest} levels`);
    above.add(value);
    inside();
    above.delete(value);
  };
  walk(state, "");
}

/** The path of an entry. Keys that look like paths are quoted: `{ "a.b": 1 }` is not `{ a: { b: 1 } }`. */
export function join(path: string, key: string): string {
  if (!/^[^.[\]"]+$/.test(key)) return `${path}[${JSON.stringify(key)}]`;
  return path === "" ? key : `${path}.${key}`;
}

function keysOf(value: object, path: string): string[] {
  if (Object.getOwnPropertySymbols(value).length > 0) throw invalid(path, "an entry named by a symbol");
  return Object.keys(value);
}

function arrayNode(value: ArrayBufferView, path: string): StateNode {
  const type = elementTypes.get(value.constructor);
  if (!type) throw invalid(path, `a ${value.constructor.name}`);
  return { kind: "array", value: value as HostArray, type: `${type}[${(value as HostArray).length}]` };
}

function describe(value: unknown): string {
  if (typeof value === "function") return "a function";
  if (value === undefined) return "undefined";
  if (typeof value === "object" && value !== null) return `a ${value.constructor?.name ?? "object"}`;
  return `a ${typeof value}`;
}

function invalid(path: string, what: string): EspalierError {
  return new EspalierError("STATE_INVALID", `the state at "${placeOf(path)}" holds ${what}`, {
    fix: "a state holds tensors, typed arrays, and JSON values in arrays and plain objects",
  });
}

const placeOf = (path: string): string =>
  path === "" ? "the top" : path.length > 200 ? `${path.slice(0, 200)}...` : path;

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

/** A copy of a state in memory, tensors as arrays of their numbers: it shares nothing with what it was taken from. */
export async function copyState(state: StateTree): Promise<StateTree> {
  if (state instanceof Tensor) return (await state.read()).slice();
  if (ArrayBuffer.isView(state)) return structuredClone(state);
  if (Array.isArray(state)) return Promise.all(state.map(copyState));
  if (!isPlainObject(state)) return state;
  const entries = Object.entries(state as Readonly<Record<string, StateTree>>);
  return Object.fromEntries(
    await Promise.all(entries.map(async ([name, part]) => [name, await copyState(part)] as const)),
  );
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
