import { Checkpoint, type PartedStore } from "./checkpoint.ts";
import { CheckpointManager } from "./manager.ts";
import { bytesIn, filedMetrics, type Manifest } from "./manifest.ts";
import { savedLeaves } from "./read-component.ts";
import type { CheckpointStore } from "./store/store.ts";

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
        parts.map(async (part) => bytesIn((await Checkpoint.open(part, name)).manifest)),
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

export type InspectedCheckpoint = Awaited<ReturnType<typeof inspectCheckpoint>>;

/** Reads what lies in a checkpoint: types of tensors, without their numbers, and plain values by their paths. */
export async function inspectCheckpoint(checkpoint: Checkpoint) {
  const { path, manifest } = checkpoint;
  const components = [];
  for (const [name, { file, offset = 0, bytes, sha256 }] of Object.entries(manifest.components)) {
    const leaves = await checkpoint.withComponent(name, async ({ header }) => savedLeaves(header));
    const tensors = leaves.filter((leaf) => leaf.kind !== "value");
    const values = leaves.flatMap((leaf) =>
      leaf.kind === "value" ? [[leaf.path, leaf.value] as const] : [],
    );
    components.push({ name, file, offset, bytes, sha256, tensors, values: Object.fromEntries(values) });
  }
  return { path, ...manifest, bytes: bytesIn(manifest), components };
}
