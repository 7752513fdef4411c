import { createHash } from "node:crypto";
import { createReadStream, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { isKind, type Plugin } from "./plugin.ts";
import { listFolder } from "./python.ts";
import { pluginDirectory, type Surroundings } from "./surroundings.ts";

/** Contents of `plugin.json` beside an installed plugin. */
export interface PluginRecord {
  readonly kind: "cpu" | "cuda";
  readonly file: string;
  readonly package: string;
  readonly version: string;
  readonly bytes: number;
  readonly sha256: string;
}

export const RECORD_NAME = "plugin.json";

/** The installed plugins. One whose file is gone or of the wrong length is left out. */
export function cachedPlugins(surroundings: Surroundings): readonly Plugin[] {
  const root = pluginDirectory(surroundings);
  return listFolder(root)
    .filter((name) => !name.startsWith("."))
    .flatMap((name) => {
      const folder = join(root, name);
      const record = readRecord(folder);
      if (!record || sizeOf(join(folder, record.file)) !== record.bytes) return [];
      return [{ kind: record.kind, path: join(folder, record.file), source: "cache" } as const];
    })
    .sort((a, b) => Number(a.kind === "cpu") - Number(b.kind === "cpu"));
}

/** The record in a folder, or undefined where there is none that can be understood. */
export function readRecord(folder: string): PluginRecord | undefined {
  try {
    const record = JSON.parse(readFileSync(join(folder, RECORD_NAME), "utf8")) as Partial<PluginRecord>;
    const whole =
      isKind(record.kind) &&
      typeof record.file === "string" &&
      typeof record.bytes === "number" &&
      typeof record.sha256 === "string";
    return whole ? (record as PluginRecord) : undefined;
  } catch {
    return undefined;
  }
}

/** SHA-256 of a file, in hexadecimal. */
export async function hashFile(path: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(path)) hash.update(chunk as Uint8Array);
  return hash.digest("hex");
}

function sizeOf(file: string): number | undefined {
  try {
    return statSync(file).size;
  } catch {
    return undefined;
  }
}
