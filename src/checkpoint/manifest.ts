import { EspalierError, hex, isPlainObject, metricParts, sha256, shown } from "../core/index.ts";
import { type Counters, noCounters } from "../schedule/index.ts";
import type { ComputedBy } from "./computed-by.ts";
import { decodeJson, encodeJson, type Json, parseJson, placed, unknownMark } from "./json.ts";
import type { BestRule } from "./retention.ts";
import { type FileRecord, isName } from "./store/store.ts";

/** The file that lists what a checkpoint holds. It is written last. */
export const manifestFile = "manifest.json";

/** Bytes that a manifest may have: as many as a component's header. */
export const longestManifest = 100_000_000;

/** A component's place and content: a safetensors file, alone or as a part of a file that holds several. */
export interface ComponentRecord extends FileRecord {
  readonly file: string;
  /** Where it begins in the file. Default: 0. */
  readonly offset?: number;
  /** Tensors and arrays in it. */
  readonly tensors: number;
}

/** The content of a checkpoint and where it comes from. */
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
  /** Settings that programs that use the checkpoint need: the recipe of its model. Runs that resume are not compared with it. */
  readonly about?: Json;
  readonly computedBy: ComputedBy;
  readonly components: Readonly<Record<string, ComponentRecord>>;
  /** The rule by which the run keeps its best checkpoint, where it has one. */
  readonly best?: BestRule;
}

/** A manifest as text, with a checksum of its own. */
export function encodeManifest(manifest: Manifest): string {
  const plain = encodeJson(manifest, () => undefined) as Readonly<Record<string, Json>>;
  return `${JSON.stringify({ ...plain, checksum: checksum(plain) }, null, 2)}\n`;
}

/** The reverse, checked, and migrated where an older version wrote it. */
export function decodeManifest(text: string, path: string): Manifest {
  try {
    return decode(text, path);
  } catch (error) {
    throw error instanceof EspalierError && error.code === "CHECKPOINT_DAMAGED" ? placed(path, error) : error;
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
    }),
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
  offset: (offset) => offset === undefined || isCount(offset),
  bytes: isCount,
  sha256: (hash) => typeof hash === "string" && /^[0-9a-f]{64}$/.test(hash),
  tensors: isCount,
});

/** The check of each field of a manifest. */
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
  about: () => true,
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
  best: (value) => value === undefined || has({ metric: isText, direction: isText })(value),
};

/** Refuses a manifest whose checksum fits and whose fields do not: Espalier did not write it. */
function checked(decoded: unknown): Manifest {
  const manifest = decoded as Manifest;
  for (const [name, check] of Object.entries(fields)) {
    const value = manifest[name as keyof Manifest];
    if (!check(value)) throw damaged(`its ${name} cannot be: ${shown(value)}`);
  }
  for (const records of recordsByFile(manifest).values()) {
    let end = 0;
    for (const { file, offset = 0, bytes } of records) {
      if (offset !== end)
        throw damaged(`its components do not fill ${file}: ${end} is followed by ${offset}`);
      end += bytes;
    }
  }
  if (configHash(manifest.config) !== manifest.configHash)
    throw damaged("its configHash does not fit its config");
  return manifest;
}

/** The components' records by the files that they are in, in the order in which they lie there. */
export function recordsByFile({
  components,
}: Pick<Manifest, "components">): ReadonlyMap<string, readonly ComponentRecord[]> {
  const files = new Map<string, ComponentRecord[]>();
  for (const record of Object.values(components))
    files.set(record.file, [...(files.get(record.file) ?? []), record]);
  for (const records of files.values())
    records.sort((a, b) => (a.offset ?? 0) - (b.offset ?? 0) || a.bytes - b.bytes);
  return files;
}

const checksum = (plain: Json): string => hex(sha256().update(JSON.stringify(plain)).digest());

const damaged = (why: string): EspalierError =>
  new EspalierError("CHECKPOINT_DAMAGED", why, { fix: "use another checkpoint" });

type Plain = Readonly<Record<string, Json>>;

/** The version that is written. Checkpoints of every earlier version can be read. */
export const currentVersion = 2;

/**
 * Functions from a manifest of one version to the next: `migrations[1]` makes version 2 of version 1. Adding a version
 * adds an entry here and a committed checkpoint of the version before under `fixtures/`.
 */
const migrations: Readonly<Record<number, (manifest: Plain) => Plain>> = {
  // Version 1 had a file for each component.
  1: (manifest) => manifest,
};

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

/** A hash of settings that is the same whatever the order of their keys. */
export const configHash = (config: Json): string => checksum(sorted(encodeJson(config, () => undefined)));

function sorted(value: Json): Json {
  if (Array.isArray(value)) return value.map((item) => sorted(item as Json));
  if (!isPlainObject(value)) return value;
  const keys = Object.keys(value).sort();
  return Object.fromEntries(keys.map((key) => [key, sorted(value[key] as Json)]));
}

/** Every place where two settings differ, in words. */
export function configDifferences(saved: Json, present: Json, path = "config"): readonly string[] {
  if (isPlainObject(saved) && isPlainObject(present)) {
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

/** Bytes of a checkpoint's components. */
export const bytesIn = ({ components }: Pick<Manifest, "components">): number =>
  Object.values(components).reduce((sum, { bytes }) => sum + bytes, 0);

type Filed = Pick<Manifest, "metrics" | "scores">;

/** Categories whose metrics stand in manifests under their full names. */
const inFull = ["train", "rollout", "validation", "evaluation", "health", "time", "system"];

/**
 * All metrics and scores of a checkpoint by their full names. Manifests have shorter ones, which never change: `loss`
 * is `train/loss`, the score `validation.loss` is `validation/loss`, and any other score is of `evaluation`.
 *
 * @example
 * ```ts
 * filedMetrics({ metrics: { loss: 1 }, scores: { "validation.loss": 2, return: 3 } });
 * // { "train/loss": 1, "validation/loss": 2, "evaluation/return": 3 }
 * ```
 */
export function filedMetrics({ metrics, scores }: Filed): Readonly<Record<string, number>> {
  const found: Record<string, number> = {};
  for (const [name, value] of Object.entries(metrics)) {
    // Metrics of rollouts have both names where a metrics hook collected them.
    if (!Object.hasOwn(metrics, `rollout/${name}`)) found[isInFull(name) ? name : `train/${name}`] = value;
  }
  for (const [name, value] of Object.entries(scores)) {
    const validated = name.startsWith("validation.");
    if (isInFull(name)) found[name] = value;
    else found[validated ? name.replace(".", "/") : `evaluation/${name}`] = value;
  }
  return found;
}

/** One of them. Undefined where the checkpoint does not have it. */
export function filedMetric(manifest: Filed, full: string): number | undefined {
  const { metrics, scores } = manifest;
  const { category = "", name = "" } = metricParts(full) ?? {};
  // Without a metrics hook, metrics of rollouts have the short name alone.
  const short = category === "rollout" || category === "train" ? metrics[name] : undefined;
  return filedMetrics(manifest)[full] ?? scores[full] ?? metrics[full] ?? short;
}

const isInFull = (name: string): boolean => inFull.includes(metricParts(name)?.category ?? "");
