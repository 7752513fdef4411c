import { didYouMean, EspalierError, isPlainObject, shown } from "../../core/index.ts";
import { type Counters, noCounters } from "../../schedule/index.ts";
import { deepest, walkState } from "../../state/index.ts";
import { type ComponentImage, type Json, writeComponent } from "../component/index.ts";
import {
  type ComponentRecord,
  type ComputedBy,
  configHash,
  encodeManifest,
  type Manifest,
  manifestFile,
} from "../manifest/index.ts";
import type { CheckpointWriter, StoreLock } from "../store/index.ts";
import { fileNames } from "./names.ts";
import type { Snapshot } from "./snapshot.ts";

/** What is filed with a checkpoint. `restore` gives it back. How far the run is: `counters`, or `step`. */
export interface CheckpointMetadata {
  /** How far the run is; a checkpoint is named by its epochs and updates. */
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
  /** How the run compiles: `deterministic`, flags. */
  readonly compileOptions?: Json;
  /** Whatever the caller wants to find again. */
  readonly metadata?: Json;
}

/** Metadata with everything filled in, as manifests keep it. */
export type FiledMetadata = Pick<Manifest, "counters" | "metrics" | "scores" | "metadata" | "config"> & {
  readonly compileOptions: Json | undefined;
};

const known: Readonly<Record<keyof CheckpointMetadata, true>> = {
  counters: true,
  step: true,
  episode: true,
  metrics: true,
  scores: true,
  config: true,
  compileOptions: true,
  metadata: true,
};

/** Completes and checks what is to be filed, before anything is frozen or written. Entries that are undefined are left out. */
export function filed(given: CheckpointMetadata): FiledMetadata {
  const isObject: boolean = isPlainObject(given);
  if (!isObject)
    throw invalid(
      `the metadata is ${shown(given)}`,
      "give { counters: { epochs, updates }, metrics } or { step, metrics }",
    );
  for (const name of Object.keys(given))
    if (!Object.hasOwn(known, name))
      throw invalid(
        `the metadata has no "${name}"${didYouMean(name, Object.keys(known))}`,
        `put what is your own into metadata: { metadata: { ${name} } }`,
      );
  const { counters, step, episode } = given;
  if (counters === undefined && step === undefined)
    throw invalid("it is not said how far the run is", "give counters: { epochs, updates }, or step");
  if (step !== undefined && counters?.updates !== undefined && counters.updates !== step)
    throw invalid(
      `step is ${shown(step)} and counters.updates ${shown(counters.updates)}`,
      "a step is an update: give one of the two",
    );
  const short = {
    ...(step !== undefined && { updates: step }),
    ...(episode !== undefined && { episodes: episode }),
  };
  const isCount = (value: unknown): boolean => Number.isFinite(value) && (value as number) >= 0;
  const isWhole = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0;
  for (const [name, value] of Object.entries({ step, episode }))
    if (value !== undefined && !isWhole(value))
      throw invalid(`${name} is ${shown(value)}`, "give a whole number from 0 on");
  const counted = {
    ...noCounters,
    ...numbers("counters", counters, isCount, "a number from 0 on"),
    ...short,
  };
  for (const name of ["epochs", "updates"] as const)
    if (!isWhole(counted[name]))
      throw invalid(`counters.${name} is ${counted[name]}`, "give a whole number from 0 on");
  const isNumber = (value: unknown): boolean => typeof value === "number";
  return {
    counters: counted,
    metrics: numbers("metrics", given.metrics, isNumber, "a number"),
    scores: numbers("scores", given.scores, isNumber, "a number"),
    metadata: plain("metadata", given.metadata),
    config: plain("config", given.config),
    compileOptions:
      given.compileOptions === undefined ? undefined : plain("compileOptions", given.compileOptions),
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

/** A JSON value as it will be read again. */
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
    throw invalid(`${what}: ${cause.message.split(" [")[0]}`, "give JSON values", cause);
  }
}

/** Entries of objects that are undefined do not count, as in JSON. `walkState` says what is wrong with the rest. */
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

/** What the manager adds. */
export interface Filing {
  readonly name: string;
  readonly run: string;
  readonly sequence: number;
  readonly savedAt: string;
  readonly computedBy: ComputedBy;
}

/** Writes a snapshot as one checkpoint: all of it, or nothing. */
export async function writeSnapshot(
  lock: StoreLock,
  snapshot: Snapshot,
  given: FiledMetadata,
  filing: Filing,
): Promise<Manifest> {
  // Before anything is begun: a snapshot that has been released has no images.
  void snapshot.images;
  const writer = await lock.begin(filing.name);
  try {
    const components = await writeComponents(writer, snapshot);
    const manifest: Manifest = {
      format: "espalier-checkpoint",
      version: 1,
      name: filing.name,
      run: filing.run,
      sequence: filing.sequence,
      savedAt: filing.savedAt,
      counters: given.counters,
      metrics: given.metrics,
      scores: given.scores,
      metadata: given.metadata,
      config: given.config,
      configHash: configHash(given.config),
      computedBy: filing.computedBy,
      components,
    };
    const file = await writer.file(manifestFile);
    await file.write(new TextEncoder().encode(encodeManifest(manifest)));
    await file.close();
    await writer.commit();
    return manifest;
  } catch (error) {
    // What failed first is what matters; what cannot be removed now is removed at the next start.
    await writer.abort().catch(() => undefined);
    throw error;
  }
}

/** Files written at a time: a hash keeps one processor busy, and fast disks take more than that. */
const lanes = 2;

async function writeComponents(
  writer: CheckpointWriter,
  { images }: Snapshot,
): Promise<Readonly<Record<string, ComponentRecord>>> {
  const bytes = (component: string): number => images.get(component)?.bytes ?? 0;
  // The largest first, so that no lane is left alone with it at the end.
  const waiting = [...fileNames([...images.keys()])].sort(([a], [b]) => bytes(b) - bytes(a));
  const records = new Map<string, ComponentRecord>();
  let failed = false;
  const lane = async (): Promise<void> => {
    for (let next = waiting.shift(); next && !failed; next = waiting.shift()) {
      const [component, file] = next;
      // Both come from the same names.
      const image = images.get(component) as ComponentImage;
      try {
        const record = await writeComponent(component, image, await writer.file(file));
        records.set(component, { file, ...record, tensors: image.leaves.length });
      } catch (error) {
        failed = true;
        throw error;
      }
    }
  };
  // All lanes have ended before anything is told, so that nobody writes to what is then removed.
  const ends = await Promise.allSettled(Array.from({ length: lanes }, lane));
  for (const end of ends) if (end.status === "rejected") throw end.reason;
  return Object.fromEntries([...images.keys()].map((name) => [name, records.get(name) as ComponentRecord]));
}
