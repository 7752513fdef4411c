import { EspalierError } from "../../core/index.ts";
import { missingFile } from "../store/names.ts";

const full = ["ENOSPC", "EDQUOT", "EFBIG"];
const forbidden = ["EACCES", "EPERM", "EROFS"];

/** The error of a failed operation on files, in words that say what to do. */
export function fileFailure(what: string, path: string, error: unknown): EspalierError {
  if (error instanceof EspalierError) return error;
  const { code = "", message } = error as NodeJS.ErrnoException;
  const said = (errorCode: string, words: string, fix?: string): EspalierError =>
    new EspalierError(errorCode, `${what} ${path}: ${words}`, { cause: error, ...(fix ? { fix } : {}) });
  if (full.includes(code))
    return said(
      "STORE_FULL",
      "no space is left",
      "free space, or keep fewer checkpoints; those there are untouched",
    );
  if (forbidden.includes(code))
    return said(
      "STORE_READ_ONLY",
      `it may not be written to (${code})`,
      "give a directory that can be written to",
    );
  if (["listing", "locking"].includes(what) && (code === "ENOTDIR" || code === "EEXIST"))
    return said(
      "STORE_NOT_DIRECTORY",
      code === "EEXIST" ? "it is a file" : "it is a file, or lies below one",
      "give a directory, or a path at which one can be made",
    );
  // A file where a directory should be: what is below it is missing too.
  if (code === "ENOENT" || code === "ENOTDIR") return missingFile(path, error);
  // Sockets cannot be opened at all.
  if (code === "NOT_REGULAR" || code === "ENXIO")
    return said("FILE_NOT_REGULAR", code === "ENXIO" ? "it is a socket, not a regular file" : message);
  if (code === "TRUNCATED") return said("FILE_TRUNCATED", "it ends before it should");
  return said("STORE_FAILED", message);
}

/** Does something with files; a failure is told with what was being done. */
export async function trying<T>(what: string, path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw fileFailure(what, path, error);
  }
}
