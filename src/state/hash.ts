import { createHash } from "node:crypto";
import type { HostArray } from "../engine/index.ts";
import { flattenState } from "./flatten.ts";
import type { StateTree } from "./stateful.ts";

/**
 * A sha256 over places, types and bits of a state: equal states have equal hashes, on every machine of the same
 * byte order, whatever the order of keys.
 *
 * @example
 * ```ts
 * const before = await hashState(await optimizer.getState());
 * ```
 */
export async function hashState(state: StateTree): Promise<string> {
  const hash = createHash("sha256");
  for (const { path, kind, value } of await flattenState(state)) {
    hash.update(`${JSON.stringify(path)} ${kind}\n`);
    if (ArrayBuffer.isView(value)) {
      const { buffer, byteOffset, byteLength } = value as HostArray;
      hash.update(new Uint8Array(buffer, byteOffset, byteLength));
    } else hash.update(typeof value === "number" ? numberText(value) : JSON.stringify(value));
    hash.update("\n");
  }
  return hash.digest("hex");
}

/** JSON writes 0 and -0 alike, and NaN and the infinities as null. */
const numberText = (value: number): string => (Object.is(value, -0) ? "-0" : String(value));
