import { EspalierError, isPlainObject } from "../core/index.ts";
import { type HostArray, read, Tensor } from "../engine/index.ts";
import type { StateTree } from "./stateful.ts";

/** A leaf of a state with its place, e.g. `optimizer.m[0].w`. Tensors have been read. */
export interface StateEntry {
  readonly path: string;
  /** Element type and shape of arrays (`f32[2,3]`), the kind of value otherwise. */
  readonly kind: string;
  readonly value: HostArray | string | number | boolean | null;
}

/** Arrays and objects without entries are entries too, so that {} and [] are told apart. */
const emptyArray = "empty array";
const emptyObject = "empty object";

/** All leaves of a state in a fixed order (keys sorted), tensors read in one go. */
export async function flattenState(state: StateTree): Promise<readonly StateEntry[]> {
  const entries: StateEntry[] = [];
  const tensors: { readonly at: number; readonly tensor: Tensor }[] = [];
  const walk = (value: unknown, path: string, above: readonly unknown[]): void => {
    if (typeof value === "object" && value !== null && above.includes(value))
      throw invalid(path, "a state that contains itself");
    if (value instanceof Tensor) {
      tensors.push({ at: entries.length, tensor: value });
      entries.push({ path, kind: value.type.text, value: null });
    } else if (ArrayBuffer.isView(value)) {
      entries.push({ path, kind: arrayKind(value, path), value: value as HostArray });
    } else if (Array.isArray(value)) {
      if (value.length === 0) entries.push({ path, kind: emptyArray, value: null });
      value.forEach((item, i) => walk(item, `${path}[${i}]`, [...above, value]));
    } else if (isPlainObject(value)) {
      const keys = Object.keys(value).sort();
      if (keys.length === 0) entries.push({ path, kind: emptyObject, value: null });
      for (const key of keys) walk(value[key], path === "" ? key : `${path}.${key}`, [...above, value]);
    } else if (value === null || ["string", "number", "boolean"].includes(typeof value)) {
      entries.push({ path, kind: value === null ? "null" : typeof value, value: value as string });
    } else throw invalid(path, typeof value === "function" ? "a function" : describe(value));
  };
  walk(state, "", []);
  const arrays = await read(tensors.map(({ tensor }) => tensor));
  tensors.forEach(({ at }, i) => {
    entries[at] = { ...(entries[at] as StateEntry), value: arrays[i] as HostArray };
  });
  return entries;
}

function arrayKind(value: ArrayBufferView, path: string): string {
  const kinds: Readonly<Record<string, string>> = {
    Float32Array: "f32",
    Float64Array: "f64",
    Int32Array: "i32",
    Uint32Array: "u32",
    Uint8Array: "u8",
  };
  const name = value.constructor.name;
  const kind = kinds[name];
  if (!kind) throw invalid(path, `a ${name}`);
  return `${kind}[${(value as HostArray).length}]`;
}

function describe(value: unknown): string {
  if (value === undefined) return "undefined";
  if (typeof value === "object" && value !== null) return `a ${value.constructor?.name ?? "object"}`;
  return `a ${typeof value}`;
}

function invalid(path: string, what: string): EspalierError {
  return new EspalierError("STATE_INVALID", `the state at "${path || "the top"}" holds ${what}`, {
    fix: "a state holds tensors, typed arrays, and JSON values in arrays and plain objects",
  });
}
