import { EspalierError } from "../../../core/index.ts";

/** The primary result code of SQLite, where an error has one. */
export const sqliteCode = (error: unknown): number | undefined => {
  const code = (error as { readonly errcode?: unknown } | null)?.errcode;
  return typeof code === "number" ? code & 0xff : undefined;
};

const [PERM, BUSY, LOCKED, READONLY, IOERR, CORRUPT, FULL, CANTOPEN, NOTADB] = [
  3, 5, 6, 8, 10, 11, 13, 14, 26,
];

/** Whether somebody else was at it. */
export const isBusy = (error: unknown): boolean => [BUSY, LOCKED].includes(sqliteCode(error) ?? -1);

/** A failed operation on a file in words that say what to do. */
export function sqliteFailure(path: string, what: string, error: unknown): EspalierError {
  if (error instanceof EspalierError) return error;
  const { code = "", message } = error as NodeJS.ErrnoException;
  const said = (name: string, words: string, fix?: string): EspalierError =>
    new EspalierError(name, `${what}: ${path} ${words}`, { cause: error, ...(fix && { fix }) });
  switch (sqliteCode(error)) {
    case BUSY:
    case LOCKED:
      return said(
        "STATS_BUSY",
        "is kept by another process",
        "end that process, or give this run a file of its own",
      );
    case CORRUPT:
    case NOTADB:
      return said(
        "STATS_INVALID",
        `is not a stats store, or is damaged (${message})`,
        "name another file; this one is left as it is",
      );
    case FULL:
      return said("STATS_FULL", "has no space left on its disk", "free space; what was filed is untouched");
    case PERM:
    case READONLY:
    case CANTOPEN:
      return unwritable(said, message);
    case IOERR:
      return said("STATS_UNAVAILABLE", `cannot be read or written (${message})`, "look at its disk");
  }
  if (["EACCES", "EPERM", "EROFS", "ENOTDIR", "EEXIST", "ENOENT", "ENAMETOOLONG"].includes(code))
    return unwritable(said, code);
  if (code === "ENOSPC" || code === "EDQUOT")
    return said("STATS_FULL", "has no space left on its disk", "free space");
  return said("STATS_FAILED", `failed: ${message}`);
}

const unwritable = (
  said: (name: string, words: string, fix: string) => EspalierError,
  why: string,
): EspalierError =>
  said(
    "STATS_UNWRITABLE",
    `cannot be written to (${why})`,
    "give a file in a directory that can be written to",
  );
