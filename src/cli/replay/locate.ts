import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { EspalierError } from "../../core/index.ts";

const SUFFIX = ".replay";

/**
 * A file, or the newest replay of a directory: those in it, and those that a store keeps in directories of their own;
 * and among how many it was chosen.
 */
export function locateReplay(path: string): { readonly path: string; readonly among: number } {
  if (!existsSync(path))
    throw new EspalierError("REPLAY_MISSING", `there is nothing at ${path}`, {
      fix: "give a replay, its file: URI, or a directory of replays; an evaluationHook with replays records some",
    });
  if (!statSync(path).isDirectory()) return { path, among: 1 };
  const found = replaysIn(path);
  const newest = found
    .map((file) => ({ file, time: statSync(file).mtimeMs }))
    .sort((a, b) => b.time - a.time || (a.file < b.file ? 1 : -1))[0];
  if (newest) return { path: newest.file, among: found.length };
  throw new EspalierError("REPLAY_MISSING", `${path} holds no replays`, {
    fix: `give a file whose name ends in ${SUFFIX}, or a directory of such`,
  });
}

function replaysIn(directory: string): readonly string[] {
  return readdirSync(directory, { withFileTypes: true }).flatMap((entry) => {
    const path = join(directory, entry.name);
    if (entry.name.startsWith(".")) return [];
    if (!entry.isDirectory()) return entry.name.endsWith(SUFFIX) ? [path] : [];
    return readdirSync(path)
      .filter((name) => name.endsWith(SUFFIX) && !name.startsWith("."))
      .map((name) => join(path, name));
  });
}
