import {
  type CheckpointStore,
  entryAt,
  isOnS3,
  nodeFileSystem,
  putWhole,
  readObject,
  uriOf,
  writeObject,
} from "../../checkpoint/index.ts";
import { codeOf, EspalierError, node } from "../../core/index.ts";
import { decodeReplay, encodeReplay } from "./format.ts";
import type { Replay } from "./replay.ts";

/** A replay that was written. */
export interface StoredReplay {
  readonly path: string;
  readonly uri: string;
  readonly bytes: number;
}

/** Options of {@link writeReplay}. */
export interface WriteReplayOptions {
  /** One of the same name is replaced. Default: made of environment, lesson and seed. */
  readonly name?: string;
}

/**
 * Writes a replay to a directory, to `s3://bucket/prefix`, or to a checkpoint store, where it appears complete or not at
 * all. In a directory and on S3 it is `NAME.replay`, and several processes may write at once; in a store it is the entry
 * NAME.
 *
 * @example
 * ```ts
 * const { uri } = await writeReplay("runs/maze/replays", replay, { name: "update-001200-maze" });
 * ```
 */
export async function writeReplay(
  to: string | CheckpointStore,
  replay: Replay,
  options: WriteReplayOptions = {},
): Promise<StoredReplay> {
  const name = fileName(options.name ?? nameOf(replay));
  const bytes = encodeReplay(replay);
  const path = await written(to, name, bytes);
  return { path, uri: uriOf(path), bytes: bytes.length };
}

async function written(to: string | CheckpointStore, name: string, bytes: Uint8Array): Promise<string> {
  if (typeof to !== "string") return intoStore(to, name, bytes);
  if (!isOnS3(to)) return intoDirectory(to, name, bytes);
  const address = `${to.replace(/\/$/, "")}/${name}${REPLAY_SUFFIX}`;
  await writeObject(address, bytes);
  return address;
}

/**
 * Reads a replay: a path, a `file:` URI, an address on S3, or a name in a store.
 *
 * @example
 * ```ts
 * const replay = await readReplay("runs/maze/replays/update-001200-maze.replay");
 * ```
 */
export async function readReplay(from: string | URL, store?: CheckpointStore): Promise<Replay> {
  const address = String(from);
  if (store) return fromStore(store, fileName(address));
  const onS3 = isOnS3(address);
  if (onS3 && !address.endsWith(REPLAY_SUFFIX)) {
    const entry = entryAt(address);
    return fromStore(entry.store, entry.name);
  }
  const path = onS3 ? address : replayPath(from);
  try {
    return decodeReplay(await (onS3 ? readObject(path) : node.fs.promises.readFile(path)), address);
  } catch (cause) {
    const { code = "", message } = cause as NodeJS.ErrnoException;
    const gone = ["ENOENT", "ENOTDIR", "FILE_MISSING"].includes(code);
    if (cause instanceof EspalierError && !gone) throw cause;
    throw new EspalierError(
      gone ? "REPLAY_MISSING" : "REPLAY_UNREADABLE",
      gone ? `there is no replay ${from}` : `${from} cannot be read: ${message}`,
      { fix: "give the path or the URI of a replay", cause },
    );
  }
}

/** The path of a path or a `file:` URI. */
export function replayPath(from: string | URL): string {
  const text = String(from);
  // One letter is a drive of Windows.
  if (!/^[a-z][a-z0-9+.-]+:/i.test(text)) return node.path.resolve(text);
  try {
    return node.url.fileURLToPath(text);
  } catch (cause) {
    throw new EspalierError("REPLAY_URI", `${text} does not lead to a file of this machine`, {
      fix: "give a path, a file: URI or an address on S3; what lies elsewhere is to be copied here first",
      cause,
    });
  }
}

const nameOf = ({ environment, lesson, lessonName, seed }: Replay): string =>
  `${environment}-${lessonName ?? (lesson === 0 ? "" : `lesson-${lesson}-`)}${lessonName ? "-" : ""}seed-${seed}`;

/** A name that every file system and store takes. */
const fileName = (name: string): string =>
  name
    .replace(/[^A-Za-z0-9._-]+/g, "_")
    .replace(/^\./, "_")
    .slice(0, 180) || "_";

/** File extension of replays. */
const REPLAY_SUFFIX = ".replay";

/** Writes a temporary file, flushes it and renames it: the file appears complete or not at all. */
async function intoDirectory(to: string, name: string, bytes: Uint8Array): Promise<string> {
  const directory = node.path.resolve(to);
  const path = node.path.join(directory, `${name}${REPLAY_SUFFIX}`);
  const random = node.crypto.randomBytes(6).toString("hex");
  const beside = node.path.join(directory, `.${name}-${process.pid}-${random}.tmp`);
  try {
    await nodeFileSystem.makeDirectory(directory);
    await putWhole(nodeFileSystem, path, beside, bytes);
    await nodeFileSystem.syncDirectory(directory);
    return path;
  } catch (cause) {
    throw new EspalierError("REPLAY_WRITE", `${path} could not be written: ${(cause as Error).message}`, {
      fix: "give a directory that can be written to and has space",
      cause,
    });
  }
}

/** The file of a replay in a store, where every entry is a directory. */
const IN_STORE = `episode${REPLAY_SUFFIX}`;

/** Commits an entry with the replay in it, and replaces one of that name. */
async function intoStore(store: CheckpointStore, name: string, bytes: Uint8Array): Promise<string> {
  const lock = await store.lock("replays");
  try {
    await lock.remove(name);
    const writer = await lock.begin(name);
    try {
      const file = await writer.file(IN_STORE);
      await file.write(Uint8Array.from(bytes));
      await file.close();
      await writer.commit();
    } catch (error) {
      await writer.abort();
      throw error;
    }
    return store.path(name);
  } finally {
    await lock.release();
  }
}

/** The replay of an entry. */
async function fromStore(store: CheckpointStore, name: string): Promise<Replay> {
  const where = store.path(name);
  const file = await (await store.open(name)).file(IN_STORE).catch((cause: unknown) => {
    if (codeOf(cause) !== "FILE_MISSING") throw cause;
    throw new EspalierError("REPLAY_MISSING", `there is no replay ${where}`, {
      fix: "give the name of a replay in this store",
      cause,
    });
  });
  try {
    return decodeReplay(await file.read(0, file.size), where);
  } finally {
    await file.close();
  }
}
