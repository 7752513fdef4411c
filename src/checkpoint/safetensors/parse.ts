import { isPlainObject } from "../../core/index.ts";
import { broken } from "./broken.ts";
import type { TensorEntry } from "./header.ts";

/** The entries of a header as they stand, each well-formed by itself. */
export function parseEntries(bytes: Uint8Array): {
  readonly metadata: Readonly<Record<string, string>>;
  readonly entries: TensorEntry[];
} {
  const text = decode(bytes);
  const parsed = parse(text);
  if (!text.startsWith("{") || !isPlainObject(parsed)) throw broken("its header is not a JSON object");
  const names = topLevelKeys(text);
  if (names.length !== new Set(names).size) {
    const twice = names.find((name, i) => names.indexOf(name) !== i);
    throw broken(`the name "${twice}" stands twice in its header`);
  }
  const { __metadata__: metadata = {}, ...rest } = parsed;
  if (!isPlainObject(metadata) || Object.values(metadata).some((value) => typeof value !== "string"))
    throw broken("its __metadata__ is not a map from text to text");
  return {
    metadata: metadata as Readonly<Record<string, string>>,
    entries: Object.entries(rest).map(([name, value]) => entry(name, value)),
  };
}

function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (cause) {
    throw broken("its header is not UTF-8", cause);
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw broken(`its header is not JSON (${(cause as Error).message})`, cause);
  }
}

const count = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;

function entry(name: string, value: unknown): TensorEntry {
  const {
    dtype,
    shape,
    data_offsets: offsets,
  } = (isPlainObject(value) ? value : {}) as Record<string, unknown>;
  if (typeof dtype !== "string") throw broken(`tensor "${name}" has no dtype`);
  if (!Array.isArray(shape) || !shape.every(count))
    throw broken(`tensor "${name}" has no shape of whole numbers`);
  if (!Array.isArray(offsets) || offsets.length !== 2 || !offsets.every(count))
    throw broken(`tensor "${name}" has no data_offsets of two whole numbers`);
  const [start, end] = offsets as [number, number];
  if (end < start) throw broken(`tensor "${name}" ends at ${end}, before its start at ${start}`);
  return { name, dtype, shape: shape as number[], start, end };
}

/** The keys of the outermost object of valid JSON, repeated ones included, which JSON.parse would hide. */
export function topLevelKeys(text: string): string[] {
  const keys: string[] = [];
  let depth = 0;
  let last = "";
  for (let at = 0; at < text.length; at++) {
    const found = text[at];
    if (found === '"') {
      const start = at;
      for (at++; text[at] !== '"'; at++) if (text[at] === "\\") at++;
      if (depth === 1) last = text.slice(start, at + 1);
    } else if (found === "{" || found === "[") depth++;
    else if (found === "}" || found === "]") depth--;
    else if (found === ":" && depth === 1) keys.push(JSON.parse(last) as string);
  }
  return keys;
}
