import { EspalierError } from "../../core/index.ts";
import type { Json } from "../component/index.ts";

type Plain = Readonly<Record<string, Json>>;

/** The version that is written. Checkpoints of every version before it can be read, for ever. */
export const currentVersion = 1;

/**
 * How a manifest of a version becomes one of the next: `migrations[1]` makes version 2 of version 1. Adding a version
 * adds an entry here and a committed checkpoint of the version before under `fixtures/`.
 */
const migrations: Readonly<Record<number, (manifest: Plain) => Plain>> = {};

/** Brings a manifest to the current version, step by step. */
export function migrate(
  manifest: Plain,
  path: string,
  steps: Readonly<Record<number, (manifest: Plain) => Plain>> = migrations,
  to: number = currentVersion,
): Plain {
  let current = manifest;
  for (let version = manifest.version as number; version < to; version++) {
    const step = steps[version];
    if (!step)
      throw new EspalierError("CHECKPOINT_VERSION", `${path} has format version ${version}, which never was`);
    current = { ...step(current), version: version + 1 };
  }
  return current;
}
