import { type Counters, noCounters } from "../../schedule/index.ts";
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

/** What is filed with a checkpoint. `restore` gives it back. */
export interface CheckpointMetadata {
  /** How far the run is; a checkpoint is named by its epochs and updates. */
  readonly counters: Partial<Counters>;
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
  given: CheckpointMetadata,
  filing: Filing,
): Promise<Manifest> {
  // Before anything is begun: a snapshot that has been released has no images.
  void snapshot.images;
  const writer = await lock.begin(filing.name);
  try {
    const components = await writeComponents(writer, snapshot);
    const { config = null } = given;
    const manifest: Manifest = {
      format: "espalier-checkpoint",
      version: 1,
      name: filing.name,
      run: filing.run,
      sequence: filing.sequence,
      savedAt: filing.savedAt,
      counters: complete(given.counters),
      metrics: given.metrics ?? {},
      scores: given.scores ?? {},
      metadata: given.metadata ?? null,
      config,
      configHash: configHash(config),
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

function complete(counters: Partial<Counters>): Counters {
  const given = Object.entries(counters).filter((entry): entry is [string, number] => entry[1] !== undefined);
  return { ...noCounters, ...Object.fromEntries(given) };
}
