import { EspalierError } from "../../core/index.ts";
import type { Manifest } from "../manifest/index.ts";
import type { CheckpointStore } from "../store/index.ts";
import { Checkpoint } from "./checkpoint.ts";
import { isCheckpointName } from "./names.ts";

/** A checkpoint in a list: its manifest, or why it cannot be read. */
export type CheckpointEntry =
  | {
      readonly name: string;
      readonly path: string;
      readonly manifest: Manifest;
      readonly problem?: undefined;
    }
  | { readonly name: string; readonly path: string; readonly manifest?: undefined; readonly problem: string };

/** All checkpoints of a store, the oldest first; those that cannot be read, whose age nobody knows, in front. */
export async function listCheckpoints(store: CheckpointStore): Promise<readonly CheckpointEntry[]> {
  const entries = await Promise.all(
    (await store.list()).map(async (name): Promise<readonly CheckpointEntry[]> => {
      const path = store.path(name);
      try {
        return [{ name, path, manifest: (await Checkpoint.open(store, name)).manifest }];
      } catch (error) {
        // Logs and the like may lie beside checkpoints.
        const foreign =
          error instanceof EspalierError && foreignCodes.includes(error.code) && !isCheckpointName(name);
        return foreign ? [] : [{ name, path, problem: firstLine(error) }];
      }
    }),
  );
  return entries.flat().sort(byAge);
}

const foreignCodes = ["CHECKPOINT_MISSING", "STORE_NAME"];

/**
 * Older first: by the number each checkpoint got when it was saved. Clocks may go backwards, and a run that went back
 * to an earlier checkpoint has lower counters than what it left behind.
 */
function byAge(a: CheckpointEntry, b: CheckpointEntry): number {
  if (!a.manifest || !b.manifest) return Number(a.manifest !== undefined) - Number(b.manifest !== undefined);
  return (
    a.manifest.sequence - b.manifest.sequence ||
    a.manifest.counters.updates - b.manifest.counters.updates ||
    a.manifest.counters.epochs - b.manifest.counters.epochs ||
    (a.name < b.name ? -1 : 1)
  );
}

/** A store whose checkpoints several wrote together. Reading one opens a part of it; it is whole if all parts are. */
export interface PartedStore extends CheckpointStore {
  partsOf(name: string): Promise<readonly Pick<CheckpointStore, "path" | "open">[]>;
}

/** The newest checkpoint that is whole, verified; others are passed over with a warning. */
export async function latestWhole(
  store: CheckpointStore,
  warn: (text: string) => void,
): Promise<Checkpoint | undefined> {
  const entries = await listCheckpoints(store);
  const passOver = (path: string, problems: readonly string[]): void =>
    warn(`the checkpoint ${path} is passed over: ${problems.join("; ")}`);
  for (const { path, problem } of entries) if (problem !== undefined) passOver(path, [problem]);
  for (const { name, path } of entries.filter(({ manifest }) => manifest).reverse()) {
    const problems = await problemsOf(store, name);
    if (problems.length === 0) return (await Checkpoint.open(store, name)).trust();
    passOver(path, problems);
  }
  return undefined;
}

/** Everything that is wrong with a checkpoint, with the parts of all who wrote it. */
export async function problemsOf(
  store: CheckpointStore | PartedStore,
  name: string,
): Promise<readonly string[]> {
  const parts = "partsOf" in store ? await store.partsOf(name) : [store];
  return (await Promise.all(parts.map((part) => problemsOfPart(part, name)))).flat();
}

async function problemsOfPart(
  part: Pick<CheckpointStore, "path" | "open">,
  name: string,
): Promise<readonly string[]> {
  try {
    return await (await Checkpoint.open(part, name)).verify();
  } catch (error) {
    return [firstLine(error)];
  }
}

const firstLine = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).split("\n")[0] ?? "";
