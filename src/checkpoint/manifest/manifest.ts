import { createHash } from "node:crypto";
import { EspalierError, isPlainObject, shown } from "../../core/index.ts";
import { type Counters, noCounters } from "../../schedule/index.ts";
import { decodeJson, encodeJson, type Json, parseJson, unknownMark } from "../component/index.ts";
import type { FileRecord } from "../store/index.ts";
import { isName } from "../store/store.ts";
import type { ComputedBy } from "./computed-by.ts";
import { configHash } from "./config-hash.ts";
import { currentVersion, migrate } from "./migrations.ts";

/** The file that says what a checkpoint holds. It is written last. */
export const manifestFile = "manifest.json";

/** Bytes that a manifest may have: as many as a component's header. */
export const longestManifest = 100_000_000;

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
  try {
    return decode(text, path);
  } catch (error) {
    if (!(error instanceof EspalierError) || error.code !== "CHECKPOINT_DAMAGED") throw error;
    const [what] = error.message.split(` [${error.code}]`);
    throw new EspalierError("CHECKPOINT_DAMAGED", `${path}: ${what}`, {
      fix: "use another checkpoint",
      cause: error.cause,
    });
  }
}

function decode(text: string, path: string): Manifest {
  const parsed = parseJson(text);
  if (!isPlainObject(parsed)) throw damaged("it is not the manifest of a checkpoint");
  const { checksum: claimed, ...plain } = parsed as Readonly<Record<string, Json>>;
  const { version } = plain;
  // Before the checksum: a newer version may compute it in another way. Where the checksum fits with the version of
  // today, only the version was altered.
  if (
    typeof version === "number" &&
    version > currentVersion &&
    claimed !== checksum({ ...plain, version: currentVersion })
  )
    throw new EspalierError(
      "CHECKPOINT_NEWER",
      `${path} has format version ${version}, and this Espalier reads up to ${currentVersion}`,
      { fix: "install a newer espalier to read it" },
    );
  if (plain.format !== "espalier-checkpoint" || typeof version !== "number")
    throw damaged("it is not the manifest of a checkpoint");
  if (claimed !== checksum(plain)) throw damaged("it was altered: its checksum does not fit");
  return checked(
    decodeJson(migrate(plain, path), (kind) => {
      throw unknownMark(kind);
    }) as Record<string, unknown>,
  );
}

type Check = (value: unknown) => boolean;

const isText: Check = (value) => typeof value === "string";
const isCount: Check = (value) => Number.isSafeInteger(value) && (value as number) >= 0;
const isAny: Check = (value) => value !== undefined;
const isCounter: Check = (value) => Number.isFinite(value) && (value as number) >= 0;
const isNumber: Check = (value) => typeof value === "number";
const each =
  (check: Check): Check =>
  (value) =>
    isPlainObject(value) && Object.values(value).every(check);
const has =
  (fields: Readonly<Record<string, Check>>): Check =>
  (value) =>
    isPlainObject(value) && Object.entries(fields).every(([name, check]) => check(value[name]));
const isRecord = has({
  file: (file) => typeof file === "string" && isName(file),
  bytes: isCount,
  sha256: (hash) => typeof hash === "string" && /^[0-9a-f]{64}$/.test(hash),
  tensors: isCount,
});

/** What each field of a manifest must be. */
const fields: Readonly<Record<keyof Manifest, Check>> = {
  format: isText,
  version: isNumber,
  name: isText,
  run: isText,
  sequence: isCount,
  savedAt: isText,
  counters: (value) =>
    each(isCounter)(value) && Object.keys(noCounters).every((name) => name in (value as object)),
  metrics: each(isNumber),
  scores: each(isNumber),
  metadata: isAny,
  config: isAny,
  configHash: isText,
  computedBy: has({
    engine: isText,
    device: isText,
    plugin: has({ name: isText, sha256: (hash) => hash === null || isText(hash) }),
    cpu: has({ model: isText, features: isText }),
    threads: isCount,
    compileOptions: isAny,
    platform: isText,
    v8: isText,
    node: isText,
    espalier: isText,
  }),
  components: each(isRecord),
};

/** Refuses a manifest whose checksum fits and whose fields do not: somebody else wrote it. */
function checked(decoded: Readonly<Record<string, unknown>>): Manifest {
  for (const [name, check] of Object.entries(fields))
    if (!check(decoded[name])) throw damaged(`its ${name} cannot be: ${shown(decoded[name])}`);
  const manifest = decoded as unknown as Manifest;
  const files = Object.values(manifest.components).map(({ file }) => file.toLowerCase());
  if (new Set(files).size !== files.length) throw damaged("two of its components have one file");
  if (configHash(manifest.config) !== manifest.configHash)
    throw damaged("its configHash does not fit its config");
  return manifest;
}

const checksum = (plain: Readonly<Record<string, Json>>): string =>
  createHash("sha256").update(JSON.stringify(plain)).digest("hex");

const damaged = (why: string): EspalierError => new EspalierError("CHECKPOINT_DAMAGED", why);
