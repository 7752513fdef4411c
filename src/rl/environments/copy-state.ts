import { EspalierError, isPlainObject } from "../../core/index.ts";
import type { HostArray } from "../../engine/index.ts";
import type { StateTree } from "../../state/index.ts";

/**
 * A copy of a state that shares no memory with it: plain objects, lists, numbers, texts, booleans, null and typed
 * arrays. Refuses what cannot be saved, naming where it is.
 *
 * @example
 * ```ts
 * const kept = copyState({ board: new Uint8Array(9), turn: 0 });
 * ```
 */
export const copyState = (state: unknown, owner: string): StateTree => copy(state, owner, "state");

const isHostArray = (value: object): value is HostArray =>
  value instanceof Float32Array ||
  value instanceof Float64Array ||
  value instanceof Int32Array ||
  value instanceof Uint32Array ||
  value instanceof Uint8Array;

function copy(value: unknown, owner: string, path: string): StateTree {
  switch (typeof value) {
    case "number":
    case "string":
    case "boolean":
      return value;
    case "object":
      if (value === null) return null;
      if (Array.isArray(value)) return value.map((item, i) => copy(item, owner, `${path}[${i}]`));
      if (isHostArray(value)) return value.slice();
      if (isPlainObject(value)) {
        const copied: Record<string, StateTree> = {};
        for (const name in value) copied[name] = copy(value[name], owner, `${path}.${name}`);
        return copied;
      }
  }
  const what =
    value === undefined
      ? "undefined"
      : `a ${typeof value === "object" ? value?.constructor?.name : typeof value}`;
  throw new EspalierError("STATE_INVALID", `${owner}: ${path} is ${what}, which cannot be saved`, {
    fix: "keep plain objects, lists, typed arrays, numbers, texts, booleans and null in the state",
  });
}
