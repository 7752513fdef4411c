import { readFile } from "node:fs/promises";
import { isAbsolute, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { CheckpointStore } from "../../checkpoint/index.ts";
import { EspalierError } from "../../core/index.ts";
import { decodeReplay, encodeReplay } from "./format.ts";
import { intoDirectory } from "./in-directory.ts";
import { fromStore, intoStore } from "./in-store.ts";
import type { Replay } from "./replay.ts";

/** Where a replay lies. */
export interface StoredReplay {
  readonly path: string;
  readonly uri: string;
  readonly bytes: number;
}

/** Options of {@link writeReplay}. */
export interface WriteReplayOptions {
  /** Default: made of environment, lesson and seed. One of the same name is replaced. */
  readonly name?: string;
}

/**
 * Files a replay in a directory, or in a store such as checkpoints have: whoever finds it finds it whole. In a
 * directory it is `NAME.replay`, and many processes may write at once; in a store it is the entry NAME.
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
  const path =
    typeof to === "string" ? await intoDirectory(to, name, bytes) : await intoStore(to, name, bytes);
  return { path, uri: isAbsolute(path) ? pathToFileURL(path).href : path, bytes: bytes.length };
}

/**
 * Reads a replay: a path, a `file:` URI, or a name in a store.
 *
 * @example
 * ```ts
 * const replay = await readReplay("runs/maze/replays/update-001200-maze.replay");
 * ```
 */
export async function readReplay(from: string | URL, store?: CheckpointStore): Promise<Replay> {
  if (store) return fromStore(store, fileName(String(from)));
  const path = replayPath(from);
  try {
    return decodeReplay(await readFile(path), String(from));
  } catch (cause) {
    if (cause instanceof EspalierError) throw cause;
    const { code, message } = cause as NodeJS.ErrnoException;
    const gone = code === "ENOENT" || code === "ENOTDIR";
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
  if (!/^[a-z][a-z0-9+.-]+:/i.test(text)) return resolve(text);
  try {
    return fileURLToPath(text);
  } catch (cause) {
    throw new EspalierError("REPLAY_URI", `${text} does not lead to a file of this machine`, {
      fix: "give a path or a file: URI; what lies elsewhere is to be copied here first",
      cause,
    });
  }
}

const nameOf = ({ environment, lesson, lessonName, seed }: Replay): string =>
  `${environment}-${lessonName ?? (lesson === 0 ? "" : `lesson-${lesson}-`)}${lessonName ? "-" : ""}seed-${seed}`;

/** What every file system and store takes. */
const fileName = (name: string): string =>
  name
    .replace(/[^A-Za-z0-9._-]+/g, "_")
    .replace(/^\./, "_")
    .slice(0, 180) || "_";
