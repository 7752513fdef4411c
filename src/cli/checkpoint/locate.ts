import { existsSync, readdirSync, statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import {
  anyRanksStore,
  type CheckpointStore,
  entryAt,
  isOnS3,
  localStore,
  openCheckpoint,
  type PartedStore,
} from "../../checkpoint/index.ts";
import { EspalierError } from "../../core/index.ts";

/** The content of a path: one checkpoint, one that several ranks wrote, each its part, or a directory of them. */
export type Located =
  | { readonly kind: "checkpoint"; readonly store: CheckpointStore; readonly name: string }
  | {
      readonly kind: "ranks";
      readonly store: PartedStore;
      readonly name: string;
      readonly parts: CheckpointStore;
    }
  | { readonly kind: "store"; readonly store: PartedStore };

/** Looks at a path, or an address on S3. A directory with a manifest is a checkpoint, any other may hold some. */
export async function locate(path: string): Promise<Located> {
  if (isOnS3(path)) return locateOnS3(path);
  const full = resolve(path);
  if (!existsSync(full)) await openCheckpoint(path); // It says what there is instead.
  if (!statSync(full).isDirectory()) {
    // People point at the manifest, too.
    if (basename(full) === "manifest.json") return locate(dirname(full));
    throw new EspalierError("CHECKPOINT_MISSING", `${path} is a file; a checkpoint is a directory`, {
      fix: "give the directory that holds manifest.json, or a directory of checkpoints",
    });
  }
  if (existsSync(join(full, "manifest.json")) || looksWritten(full))
    return { kind: "checkpoint", store: localStore(dirname(full)), name: basename(full) };
  if (readdirSync(full).some((name) => /^rank-\d{4,}$/.test(name)))
    return {
      kind: "ranks",
      store: anyRanksStore(dirname(full)),
      name: basename(full),
      parts: localStore(full),
    };
  return { kind: "store", store: anyRanksStore(full) };
}

async function locateOnS3(address: string): Promise<Located> {
  const { store: parent, name } = entryAt(address);
  if ((await parent.list()).includes(name))
    return { kind: "checkpoint", store: anyRanksStore(parent.location), name };
  const store = anyRanksStore(address);
  if ((await store.list()).length > 0) return { kind: "store", store };
  throw new EspalierError("CHECKPOINT_MISSING", `there are no checkpoints at ${address}`, {
    fix: "give the address of a checkpoint, or of a store of checkpoints",
  });
}

/** A checkpoint whose manifest is gone still is one, to be told what is wrong with it. */
const looksWritten = (directory: string): boolean =>
  readdirSync(directory).some((name) => /\.(safetensors|bin)$/.test(name));

/** The store at a path, refusing paths that lead elsewhere. */
export async function openStore(path: string): Promise<PartedStore> {
  const found = await locate(path);
  if (found.kind === "store") return found.store;
  throw new EspalierError("STORE_EXPECTED", `${path} is one checkpoint, not a directory of checkpoints`, {
    fix: `give the directory it lies in: ${found.store.location}`,
  });
}
