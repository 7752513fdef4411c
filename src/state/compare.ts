import type { HostArray } from "../engine/index.ts";
import type { StateTree } from "./stateful.ts";
import { flattenState, type StateEntry } from "./walk.ts";

/** The first difference between two states. */
export interface StateDifference {
  readonly path: string;
  /** Position in a flat array, where the difference is one number of many. */
  readonly index: number | undefined;
  /** The difference in words, path included. */
  readonly text: string;
}

/**
 * The first place where two states differ, bit for bit, or undefined where they are equal. NaN equals NaN and 0
 * differs from -0, because a resumed run must go on with the same bits.
 *
 * @example
 * ```ts
 * const found = await firstDifference(await model.getState(), await resumed.getState());
 * if (found) throw new Error(found.text); // params.layers[0].w[12]: 0.5 and 0.25
 * ```
 */
export async function firstDifference(a: StateTree, b: StateTree): Promise<StateDifference | undefined> {
  const [left, right] = await Promise.all([flattenState(a), flattenState(b)]);
  const others = new Map(right.map((entry) => [entry.path, entry]));
  for (const entry of left) {
    const other = others.get(entry.path);
    if (!other) return missing(entry, "second");
    const found = entryDifference(entry, other);
    if (found) return found;
    others.delete(entry.path);
  }
  const [extra] = others.values();
  return extra && missing(extra, "first");
}

/** True where two states are equal bit for bit. */
export const sameState = async (a: StateTree, b: StateTree): Promise<boolean> =>
  (await firstDifference(a, b)) === undefined;

function missing({ path, kind }: StateEntry, from: "first" | "second"): StateDifference {
  return { path, index: undefined, text: `${path || "the state"} (${kind}) is missing in the ${from}` };
}

function entryDifference(a: StateEntry, b: StateEntry): StateDifference | undefined {
  const place = a.path || "the state";
  if (a.kind !== b.kind) return { path: a.path, index: undefined, text: `${place}: ${a.kind} and ${b.kind}` };
  if (!ArrayBuffer.isView(a.value) || !ArrayBuffer.isView(b.value)) {
    if (Object.is(a.value, b.value)) return undefined;
    return {
      path: a.path,
      index: undefined,
      text: `${place}: ${JSON.stringify(a.value)} and ${JSON.stringify(b.value)}`,
    };
  }
  const [x, y] = [a.value as HostArray, b.value as HostArray];
  if (bytesOf(x).equals(bytesOf(y))) return undefined;
  for (let i = 0; i < x.length; i++)
    if (!Object.is(x[i], y[i]))
      return { path: a.path, index: i, text: `${place}[${i}]: ${x[i]} and ${y[i]}` };
  return undefined;
}

const bytesOf = (array: HostArray): Buffer => Buffer.from(array.buffer, array.byteOffset, array.byteLength);
