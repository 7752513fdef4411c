import { createHash } from "node:crypto";
import { EspalierError, isPlainObject } from "../../core/index.ts";
import type { Counters } from "../../schedule/index.ts";
import { decodeJson, encodeJson, type Json } from "../component/index.ts";
import type { FileRecord } from "../store/index.ts";
import type { ComputedBy } from "./computed-by.ts";
import { currentVersion, migrate } from "./migrations.ts";

/** The file that says what a checkpoint holds. It is written last. */
export const manifestFile = "manifest.json";

/** A component's file. */
export interface ComponentRecord extends FileRecord {
  readonly file: string;
  /** Tensors and arrays in it. */
  readonly tensors: number;
}

/** What a checkpoint holds and where it comes from. */
export interface Manifest {
  readonly format: "espalier-checkpoint";
  readonly version: number;
  readonly name: string;
  readonly run: string;
  /** Counts the checkpoints of a store as they are saved: the newest has the highest, whatever the clock said. */
  readonly sequence: number;
  /** The clock's time when it was saved, for people. */
  readonly savedAt: string;
  readonly counters: Counters;
  /** Last metrics, and scores of the last evaluation. */
  readonly metrics: Readonly<Record<string, number>>;
  readonly scores: Readonly<Record<string, number>>;
  /** The caller's own. */
  readonly metadata: Json;
  /** The settings that a resumed run must share, and their hash. */
  readonly config: Json;
  readonly configHash: string;
  readonly computedBy: ComputedBy;
  readonly components: Readonly<Record<string, ComponentRecord>>;
}

/** A manifest as text, with a checksum of its own. */
export function encodeManifest(manifest: Manifest): string {
  const plain = encodeJson(manifest, () => undefined) as Readonly<Record<string, Json>>;
  return `${JSON.stringify({ ...plain, checksum: checksum(plain) }, null, 2)}\n`;
}

/** The reverse, checked, and brought up to date where an older version wrote it. */
export function decodeManifest(text: string, path: string): Manifest {
  const parsed = parse(text, path);
  const { checksum: claimed, ...plain } = parsed;
  // Before the checksum: a newer version may compute it in another way.
  if (typeof plain.version === "number" && plain.version > currentVersion)
    throw new EspalierError(
      "CHECKPOINT_NEWER",
      `${path} has format version ${plain.version}, and this Espalier reads up to ${currentVersion}`,
      { fix: "install a newer espalier to read it" },
    );
  if (plain.format !== "espalier-checkpoint" || typeof plain.version !== "number")
    throw damaged(path, "it is not the manifest of a checkpoint");
  if (claimed !== checksum(plain)) throw damaged(path, "it was altered: its checksum does not fit");
  return decodeJson(migrate(plain, path), () => null) as unknown as Manifest;
}

function parse(text: string, path: string): Readonly<Record<string, Json>> {
  try {
    const value: unknown = JSON.parse(text);
    if (isPlainObject(value)) return value as Readonly<Record<string, Json>>;
  } catch {
    // Told below.
  }
  throw damaged(path, "it is not JSON");
}

const checksum = (plain: Readonly<Record<string, Json>>): string =>
  createHash("sha256").update(JSON.stringify(plain)).digest("hex");

const damaged = (path: string, why: string): EspalierError =>
  new EspalierError("CHECKPOINT_DAMAGED", `${path}: ${why}`, { fix: "use another checkpoint" });
