import { isPlainObject } from "../../core/index.ts";

/** A JSON value, and numbers that JSON has no words for. */
export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json };

/** Entries of this name mark what plain JSON cannot say; an object that has one of its own is marked too. */
export const mark = "$";

const special: Readonly<Record<string, number>> = {
  NaN: Number.NaN,
  Infinity: Number.POSITIVE_INFINITY,
  "-Infinity": Number.NEGATIVE_INFINITY,
  "-0": -0,
};

/** A value as JSON keeps it: NaN, the infinities and -0 come back as they were. `leaf` may take over other values. */
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

/** The reverse of {@link encodeJson}; `marked` gives what other marks stand for. */
export function decodeJson(value: Json, marked: (kind: string, path: readonly Step[]) => unknown): unknown {
  const decode = (part: Json, path: readonly Step[]): unknown => {
    if (Array.isArray(part)) return part.map((item, i) => decode(item as Json, [...path, i]));
    if (!isPlainObject(part)) return part;
    const kind = Object.hasOwn(part, mark) ? part[mark] : undefined;
    if (kind === undefined)
      return Object.fromEntries(
        Object.entries(part).map(([key, item]) => [key, decode(item as Json, [...path, key])]),
      );
    if (kind === "object") {
      const entries = part.entries as unknown as readonly (readonly [string, Json])[];
      return Object.fromEntries(entries.map(([key, item]) => [key, decode(item, [...path, key])]));
    }
    return special[kind as string] ?? marked(kind as string, path);
  };
  return decode(value, []);
}
