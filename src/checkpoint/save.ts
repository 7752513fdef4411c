import { didYouMean, EspalierError, errorText, hex, isPlainObject, sha256, shown } from "../core/index.ts";
import { Tensor } from "../engine/index.ts";
import { type Counters, noCounters } from "../schedule/index.ts";
import { deepest, walkState } from "../state/index.ts";
import type { Json } from "./json.ts";
import {
  type ComponentRecord,
  configHash,
  currentVersion,
  encodeManifest,
  type Manifest,
  manifestFile,
} from "./manifest.ts";
import type { ComponentImage, Snapshot } from "./snapshot.ts";
import { type CheckpointWriter, type StoreLock, sha256Of } from "./store/store.ts";
import { encodeComponent, writeComponent } from "./write-component.ts";

/** Metadata of a checkpoint. `counters` or `step` is required. */
export interface CheckpointMetadata {
  /** The counters of the run; a checkpoint is named by its epochs and updates. */
  readonly counters?: Partial<Counters>;
  /** The short form: a step is an update, so that `step: 1000` is `counters: { updates: 1000 }`. */
  readonly step?: number;
  /** Episodes that have ended: `counters: { episodes }`. */
  readonly episode?: number;
  /** Last metrics, and scores of the last evaluation. */
  readonly metrics?: Readonly<Record<string, number>>;
  readonly scores?: Readonly<Record<string, number>>;
  /** The settings that a resumed run must share. */
  readonly config?: Json;
  /** Settings that programs that use the checkpoint need, such as the model's recipe. Not compared. */
  readonly about?: Json;
  /** Options of compiled programs: `deterministic`, flags. */
  readonly compileOptions?: Json;
  /** Values of the caller's own. */
  readonly metadata?: Json;
}

/** Metadata with everything filled in, as manifests keep it. */
export type FiledMetadata = Pick<
  Manifest,
  "counters" | "metrics" | "scores" | "metadata" | "config" | "about"
> & {
  readonly compileOptions: Json | undefined;
};

const known: readonly (keyof CheckpointMetadata)[] = [
  "counters",
  "step",
  "episode",
  "metrics",
  "scores",
  "config",
  "about",
  "compileOptions",
  "metadata",
];

const isCount = (value: unknown): boolean => Number.isFinite(value) && (value as number) >= 0;
const isWhole = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0;
const isNumber = (value: unknown): boolean => typeof value === "number";

/** Completes and checks metadata, before anything is frozen or written. Entries that are undefined are left out. */
export function checkMetadata(given: CheckpointMetadata): FiledMetadata {
  if (!isPlainObject(given as unknown))
    throw invalid(
      `the metadata is ${shown(given)}`,
      "give { counters: { epochs, updates }, metrics } or { step, metrics }",
    );
  for (const name of Object.keys(given))
    if (!(known as readonly string[]).includes(name))
      throw invalid(
        `the metadata has no "${name}"${didYouMean(name, known)}`,
        `put values of your own into metadata: { metadata: { ${name} } }`,
      );
  const { counters, step, episode } = given;
  if (counters === undefined && step === undefined)
    throw invalid("it is not said how far the run is", "give counters: { epochs, updates }, or step");
  if (step !== undefined && counters?.updates !== undefined && counters.updates !== step)
    throw invalid(
      `step is ${shown(step)} and counters.updates ${shown(counters.updates)}`,
      "a step is an update: give one of the two",
    );
  for (const [name, value] of Object.entries({ step, episode }))
    if (value !== undefined && !isWhole(value))
      throw invalid(`${name} is ${shown(value)}`, "give a whole number from 0 on");
  const counted = {
    ...noCounters,
    ...numbers("counters", counters, isCount, "a number from 0 on"),
    ...(step !== undefined && { updates: step }),
    ...(episode !== undefined && { episodes: episode }),
  };
  for (const name of ["epochs", "updates"] as const)
    if (!isWhole(counted[name]))
      throw invalid(`counters.${name} is ${counted[name]}`, "give a whole number from 0 on");
  const { about, compileOptions } = given;
  return {
    counters: counted,
    metrics: numbers("metrics", given.metrics, isNumber, "a number"),
    scores: numbers("scores", given.scores, isNumber, "a number"),
    metadata: plain("metadata", given.metadata),
    config: plain("config", given.config),
    ...(about !== undefined && { about: plain("about", about) }),
    compileOptions: compileOptions === undefined ? undefined : plain("compileOptions", compileOptions),
  };
}

function numbers(
  what: string,
  given: unknown = {},
  check: (value: unknown) => boolean,
  wanted: string,
): Readonly<Record<string, number>> {
  if (!isPlainObject(given)) throw invalid(`${what} is ${shown(given)}`, `give { name: ${wanted} }`);
  const entries = Object.entries(given).filter(([, value]) => value !== undefined);
  for (const [name, value] of entries)
    if (!check(value)) throw invalid(`${what}.${name} is ${shown(value)}`, `give ${wanted}`);
  return Object.fromEntries(entries) as Record<string, number>;
}

/** A copy of a JSON value, checked. */
function plain(what: string, given: Json = null): Json {
  try {
    const value = withoutUndefined(given, new Set());
    walkState(value, (path, { kind }) => {
      if (kind === "tensor" || kind === "array")
        throw invalid(`${what}: "${path}" is a tensor or an array in memory`, "give JSON values");
    });
    return value;
  } catch (cause) {
    if (!(cause instanceof EspalierError) || cause.code !== "STATE_INVALID") throw cause;
    throw invalid(`${what}: ${errorText(cause)}`, "give JSON values", cause);
  }
}

/** Leaves out entries of objects that are undefined, as JSON does. `walkState` says what is wrong with the rest. */
function withoutUndefined(value: Json, above: Set<Json>): Json {
  if (typeof value !== "object" || value === null || above.has(value) || above.size > deepest) return value;
  above.add(value);
  let copy = value;
  if (Array.isArray(value)) copy = value.map((item) => withoutUndefined(item as Json, above));
  else if (isPlainObject(value))
    copy = Object.fromEntries(
      Object.entries(value)
        .filter(([, item]) => item !== undefined)
        .map(([key, item]) => [key, withoutUndefined(item as Json, above)]),
    );
  above.delete(value);
  return copy;
}

const invalid = (what: string, fix: string, cause?: unknown): EspalierError =>
  new EspalierError("METADATA_INVALID", `CheckpointManager.save: ${what}`, { fix, cause });

/**
 * Writes a snapshot as one checkpoint: all of it, or nothing. `filing` is the part of the manifest that the manager
 * knows.
 */
export async function writeSnapshot(
  lock: StoreLock,
  snapshot: Snapshot,
  { compileOptions: _, ...metadata }: FiledMetadata,
  filing: Pick<Manifest, "name" | "run" | "sequence" | "savedAt" | "computedBy" | "best">,
): Promise<Manifest> {
  // Before anything is begun: this throws for a snapshot that has been released.
  const { images } = snapshot;
  const writer = await lock.begin(filing.name);
  try {
    const components = await writeComponents(writer, images);
    const manifest: Manifest = {
      format: "espalier-checkpoint",
      version: currentVersion,
      ...filing,
      ...metadata,
      configHash: configHash(metadata.config),
      components,
    };
    await writeManifest(writer, manifest);
    await writer.commit();
    return manifest;
  } catch (error) {
    // The first failure is the one that matters; what cannot be removed now is removed at the next start.
    await writer.abort().catch(() => undefined);
    throw error;
  }
}

/** Writes the manifest, which is the last file of a checkpoint. */
export async function writeManifest(writer: CheckpointWriter, manifest: Manifest): Promise<void> {
  const file = await writer.file(manifestFile);
  await file.write(new TextEncoder().encode(encodeManifest(manifest)));
  await file.close();
}

/** Large files written at a time: a hash keeps one processor busy, and fast disks take more than that. */
const atOnce = 2;
/** Components up to this size are all written at once: they wait for turns of this thread, not for the disk. */
const small = 256 * 1024;

async function writeComponents(
  writer: CheckpointWriter,
  images: Snapshot["images"],
): Promise<Readonly<Record<string, ComponentRecord>>> {
  const files = fileNames([...images.keys()]);
  const records = new Map<string, ComponentRecord>();
  let failed = false;
  const write = async ([component, image]: (typeof waiting)[number]): Promise<void> => {
    const file = files.get(component) as string;
    try {
      const record = await writeComponent(component, image, await writer.file(file));
      records.set(component, { file, ...record, tensors: image.leaves.length });
    } catch (error) {
      failed = true;
      throw error;
    }
  };
  const each = [...images].filter(([, image]) => !isJoined(image));
  const joined = [...images].filter(([, image]) => isJoined(image));
  // The largest first, so that none is left alone with it at the end.
  const waiting = each.filter(([, { bytes }]) => bytes > small).sort(([, a], [, b]) => b.bytes - a.bytes);
  const writeNext = async (): Promise<void> => {
    for (let next = waiting.shift(); next && !failed; next = waiting.shift()) await write(next);
  };
  // All have ended before anything is thrown: nothing may be written to a directory that is then removed.
  const ends = await Promise.allSettled([
    ...Array.from({ length: atOnce }, writeNext),
    ...each.filter(([, { bytes }]) => bytes <= small).map(write),
    writeJoined(writer, joined, records),
  ]);
  for (const end of ends) if (end.status === "rejected") throw end.reason;
  return Object.fromEntries([...images.keys()].map((name) => [name, records.get(name) as ComponentRecord]));
}

/** The file of components that are small and have no tensors: each file costs a save an fsync. */
const joinedFile = "values.bin";

const isJoined = ({ bytes, tree, leaves }: ComponentImage): boolean =>
  bytes + tree.length <= small && !leaves.some(({ source }) => source instanceof Tensor);

/** Writes components one after another into one file. */
async function writeJoined(
  writer: CheckpointWriter,
  images: readonly (readonly [string, ComponentImage])[],
  records: Map<string, ComponentRecord>,
): Promise<void> {
  if (images.length === 0) return;
  const parts: Uint8Array[] = [];
  let offset = 0;
  for (const [component, image] of images) {
    const part = encodeComponent(image);
    const record = { file: joinedFile, offset, bytes: part.length, sha256: sha256Of(part) };
    records.set(component, { ...record, tensors: image.leaves.length });
    parts.push(part);
    offset += part.length;
  }
  const file = await writer.file(joinedFile);
  await file.write(Buffer.concat(parts));
  await file.close();
}

/** A file for each component, named like it as far as every file system allows. */
function fileNames(components: readonly string[]): ReadonlyMap<string, string> {
  const taken = new Set<string>();
  const escaped = (character: string): string =>
    Array.from(new TextEncoder().encode(character), (byte) => `%${byte.toString(16).padStart(2, "0")}`).join(
      "",
    );
  return new Map(
    components.map((component) => {
      const plain = component.replace(/[^A-Za-z0-9._-]/g, escaped);
      const hash = hex(sha256().update(component).digest()).slice(0, 12);
      // Some file systems take A for a; names that are long, hidden or taken get a hash of the component's name.
      const fits = plain.length <= 120 && /^[A-Za-z0-9_%-]/.test(plain) && !taken.has(plain.toLowerCase());
      const file = fits ? plain : `${plain.slice(0, 100).replace(/^\./, "_")}-${hash}`;
      taken.add(file.toLowerCase());
      return [component, `${file}.safetensors`];
    }),
  );
}
