import { EspalierError } from "../core/index.ts";
import { Checkpoint, type PartedStore } from "./checkpoint.ts";
import { CheckpointManager } from "./manager.ts";
import { filedMetrics, type Manifest } from "./manifest.ts";
import { type SavedLeaf, savedLeaves } from "./read-component.ts";
import type { Header } from "./safetensors/header.ts";
import { readHeader } from "./safetensors/tensors.ts";
import type { CheckpointStore, StoredFile } from "./store/store.ts";

// What lies in checkpoints, for people: the list of a store, and one of them in full, without its numbers.

/** One line for each checkpoint of a store. */
export interface ListedCheckpoint {
  readonly name: string;
  /** Number of ranks that wrote it, each its part. */
  readonly ranks: number;
  readonly savedAt: string | undefined;
  readonly counters: Manifest["counters"] | undefined;
  /** Metrics and scores by their full names. */
  readonly metrics: Manifest["metrics"] | undefined;
  readonly bytes: number | undefined;
  readonly problem: string | undefined;
}

/** Lists the checkpoints of a store, the oldest first, with their sizes. */
export async function inspectStore(
  store: CheckpointStore | PartedStore,
): Promise<readonly ListedCheckpoint[]> {
  const entries = await new CheckpointManager({ store }).list();
  return Promise.all(
    entries.map(async ({ name, manifest, problem }) => {
      const parts = "partsOf" in store ? await store.partsOf(name) : [store];
      const sizes = await Promise.all(
        parts.map(async (part) => sizeOf((await Checkpoint.open(part, name)).manifest)),
      ).catch(() => undefined);
      return {
        name,
        ranks: parts.length,
        savedAt: manifest?.savedAt,
        counters: manifest?.counters,
        metrics: manifest && filedMetrics(manifest),
        bytes: sizes?.reduce((sum, bytes) => sum + bytes, 0),
        problem,
      };
    }),
  );
}

/** Bytes of a checkpoint's components. */
const sizeOf = (manifest: Manifest): number =>
  Object.values(manifest.components).reduce((sum, { bytes }) => sum + bytes, 0);

/** A component as it is shown: its file and what lies in it. */
export interface InspectedComponent {
  readonly name: string;
  readonly file: string;
  readonly bytes: number;
  readonly sha256: string;
  readonly tensors: readonly Extract<SavedLeaf, { readonly dtype: unknown }>[];
  /** Plain values by path. */
  readonly values: Readonly<Record<string, string | number | boolean | null>>;
}

/** The content of a checkpoint. */
export interface InspectedCheckpoint extends Omit<Manifest, "components"> {
  readonly path: string;
  readonly bytes: number;
  readonly components: readonly InspectedComponent[];
}

/** Reads the content of a checkpoint, without its numbers. */
export async function inspectCheckpoint(opened: {
  readonly checkpoint: Checkpoint;
  readonly store: Pick<CheckpointStore, "open">;
}): Promise<InspectedCheckpoint> {
  const { manifest } = opened.checkpoint;
  const components: InspectedComponent[] = [];
  for (const [name, { file, bytes, sha256 }] of Object.entries(manifest.components)) {
    const leaves = await withComponent(opened, name, async ({ leaves }) => leaves);
    const tensors = leaves.filter((leaf) => leaf.kind !== "value");
    const values = leaves.flatMap((leaf) =>
      leaf.kind === "value" ? [[leaf.path, leaf.value] as const] : [],
    );
    components.push({ name, file, bytes, sha256, tensors, values: Object.fromEntries(values) });
  }
  return { path: opened.checkpoint.path, ...manifest, bytes: sizeOf(manifest), components };
}

/** A component's file, opened. */
export interface OpenComponent {
  readonly file: StoredFile;
  readonly header: Header;
  readonly leaves: readonly SavedLeaf[];
}

/** Opens a component's file for as long as `use` runs. Its data is read only where `use` does. */
export async function withComponent<T>(
  { checkpoint, store }: { readonly checkpoint: Checkpoint; readonly store: Pick<CheckpointStore, "open"> },
  component: string,
  use: (open: OpenComponent) => Promise<T>,
): Promise<T> {
  const record = checkpoint.manifest.components[component];
  if (!record)
    throw new EspalierError("COMPONENT_UNKNOWN", `${checkpoint.path} has no component "${component}"`);
  const file = await (await store.open(checkpoint.name)).file(record.file);
  try {
    const header = await readHeader(file);
    return await use({ file, header, leaves: savedLeaves(header) });
  } finally {
    await file.close();
  }
}
