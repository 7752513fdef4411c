import { EspalierError, node } from "../../core/index.ts";
import { localStore } from "./local-store.ts";
import { s3Store } from "./s3-store.ts";
import type { CheckpointStore } from "./store.ts";

// Addresses of checkpoints, wherever one is asked for: a path, a file: URI, or s3://bucket/prefix.

/** The scheme of an address; undefined for a path, which may have colons too. */
const schemeOf = (address: string): string | undefined =>
  /^(file(?=:)|[a-z][a-z0-9+.-]+(?=:\/\/))/i.exec(address)?.[1]?.toLowerCase();

/** True for what {@link storeAt} opens: a path, a `file:` URI, `s3://bucket/prefix`. */
export const isStoreAddress = (address: string): boolean =>
  [undefined, "file", "s3"].includes(schemeOf(address));

/** True for addresses on S3. */
export const isOnS3 = (address: string): boolean => schemeOf(address) === "s3";

/** The path of a path or a `file:` URI. Other addresses are errors. */
export function pathOf(address: string | URL): string {
  const text = String(address);
  const scheme = schemeOf(text);
  if (scheme === undefined) return node.path.resolve(text);
  if (scheme === "file") return node.url.fileURLToPath(text);
  throw new EspalierError("CHECKPOINT_ADDRESS", `${text} cannot be opened from here`, {
    fix: "give a path, a file: URI or s3://bucket/prefix",
  });
}

/**
 * The store at an address: a path, a `file:` URI, or `s3://bucket/prefix`, whose endpoint and credentials come from the
 * environment.
 *
 * @example
 * ```ts
 * const manager = new CheckpointManager({ store: storeAt("s3://models/mnist") });
 * ```
 */
export const storeAt = (address: string | URL): CheckpointStore =>
  isOnS3(String(address)) ? s3Store(String(address)) : localStore(pathOf(address));

/** The store that an address lies in, and its name there. */
export function entryAt(address: string | URL): { readonly store: CheckpointStore; readonly name: string } {
  const text = String(address);
  if (!isOnS3(text)) {
    const path = pathOf(text);
    return { store: localStore(node.path.dirname(path)), name: node.path.basename(path) };
  }
  // A bucket lies in nothing: it is no entry, and no entry has an empty name.
  const [, parent = text, name = ""] = /^(s3:\/\/.+?)\/([^/]*)\/?$/.exec(text) ?? [];
  return { store: s3Store(parent), name };
}

/** A path or address of a store as a URI. */
export const uriOf = (path: string): string =>
  node.path.isAbsolute(path) ? node.url.pathToFileURL(path).href : path;
