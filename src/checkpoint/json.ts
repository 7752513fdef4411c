import { EspalierError, errorText, isPlainObject, shown } from "../core/index.ts";
import { deepest } from "../state/index.ts";

/** A JSON value; numbers may be NaN, infinite or -0 too. */
export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json };

/** The key of objects that stand for what JSON cannot express. An object that has this key itself is marked too. */
export const mark = "$";

const special: Readonly<Record<string, number>> = {
  NaN: Number.NaN,
  Infinity: Number.POSITIVE_INFINITY,
  "-Infinity": Number.NEGATIVE_INFINITY,
  "-0": -0,
};

/** Encodes a value so that NaN, the infinities and -0 survive JSON. `leaf` may take over other values. */
export function encodeJson(
  value: unknown,
  leaf: (value: unknown, path: readonly Step[]) => Json | undefined,
): Json {
  const encode = (part: unknown, path: readonly Step[]): Json => {
    const taken = leaf(part, path);
    if (taken !== undefined) return taken;
    if (typeof part === "number" && (!Number.isFinite(part) || Object.is(part, -0)))
      return { [mark]: Object.is(part, -0) ? "-0" : String(part) };
    if (Array.isArray(part)) return part.map((item, i) => encode(item, [...path, i]));
    if (!isPlainObject(part)) return part as Json;
    const entries = Object.entries(part).map(([key, item]) => [key, encode(item, [...path, key])] as const);
    return mark in part ? { [mark]: "object", entries } : Object.fromEntries(entries);
  };
  return encode(value, []);
}

/** A step to an entry: its key or its position. */
export type Step = string | number;

/**
 * The JSON value of a text that a file holds. Text that is not JSON, or nested deeper than any state that is saved, is
 * an error: what follows goes down the levels by recursion.
 */
export function parseJson(text: string): Json {
  let value: Json;
  try {
    value = JSON.parse(text) as Json;
  } catch (cause) {
    throw malformed("it is not JSON", cause);
  }
  let level: readonly Json[] = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > deepest) throw malformed(`it is nested deeper than ${deepest} levels`);
    level = level.flatMap((part) => (typeof part === "object" && part !== null ? Object.values(part) : []));
  }
  return value;
}

/** The same error, with its place in front of what it says. */
export const placed = (place: string, error: EspalierError): EspalierError =>
  new EspalierError(error.code, `${place}: ${errorText(error)}`, {
    ...(error.fix !== undefined && { fix: error.fix }),
    cause: error,
  });

/** The error of a text that Espalier did not write. Callers add the file and the component. */
const malformed = (what: string, cause?: unknown): EspalierError =>
  new EspalierError("CHECKPOINT_DAMAGED", what, { fix: "use another checkpoint", cause });

/** The reverse of {@link encodeJson}; `marked` gives the values of other marks. */
export function decodeJson(value: Json, marked: (kind: string, path: readonly Step[]) => unknown): unknown {
  const decode = (part: Json, path: readonly Step[]): unknown => {
    if (Array.isArray(part)) return part.map((item, i) => decode(item as Json, [...path, i]));
    if (!isPlainObject(part)) return part;
    const kind = Object.hasOwn(part, mark) ? part[mark] : undefined;
    if (kind === undefined)
      return Object.fromEntries(
        Object.entries(part).map(([key, item]) => [key, decode(item as Json, [...path, key])]),
      );
    const { entries } = part;
    if (typeof kind !== "string" || Object.keys(part).length !== (kind === "object" ? 2 : 1))
      throw malformed(`there is a mark that nothing stands for: ${shown(part)}`);
    if (kind === "object") {
      if (!Array.isArray(entries) || !entries.every(isEntry))
        throw malformed(`there is an object without entries: ${shown(part)}`);
      return Object.fromEntries(entries.map(([key, item]) => [key, decode(item, [...path, key])]));
    }
    return Object.hasOwn(special, kind) ? special[kind] : marked(kind, path);
  };
  return decode(value, []);
}

const isEntry = (entry: unknown): entry is readonly [string, Json] =>
  Array.isArray(entry) && entry.length === 2 && typeof entry[0] === "string";

/** The error of a mark that Espalier never writes. */
export const unknownMark = (kind: string): EspalierError =>
  malformed(`there is a mark that nothing stands for: ${shown(kind)}`);
