import { createHash } from "node:crypto";
import { encodeJson, type Json } from "../component/index.ts";

/** A hash of settings that is the same whatever the order of their keys. */
export function configHash(config: Json): string {
  const encoded = encodeJson(config, () => undefined);
  return createHash("sha256")
    .update(JSON.stringify(sorted(encoded)))
    .digest("hex");
}

const isObject = (value: Json): value is { readonly [key: string]: Json } =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function sorted(value: Json): Json {
  if (Array.isArray(value)) return value.map((item) => sorted(item as Json));
  if (!isObject(value)) return value;
  const keys = Object.keys(value).sort();
  return Object.fromEntries(keys.map((key) => [key, sorted(value[key] as Json)]));
}

/** Every place where two settings differ, in words. */
export function configDifferences(saved: Json, present: Json, path = "config"): readonly string[] {
  if (isObject(saved) && isObject(present)) {
    const keys = [...new Set([...Object.keys(saved), ...Object.keys(present)])].sort();
    return keys.flatMap((key) => {
      const here = `${path}.${key}`;
      if (!Object.hasOwn(saved, key)) return [`${here} is only in this run (${shown(present[key] as Json)})`];
      if (!Object.hasOwn(present, key))
        return [`${here} is only in the checkpoint (${shown(saved[key] as Json)})`];
      return configDifferences(saved[key] as Json, present[key] as Json, here);
    });
  }
  if (configHash(saved) === configHash(present)) return [];
  return [`${path} is ${shown(saved)} in the checkpoint and ${shown(present)} here`];
}

const shown = (value: Json): string => {
  const text = typeof value === "number" ? String(value) : JSON.stringify(value);
  return text.length > 80 ? `${text.slice(0, 77)}...` : text;
};
