import { EspalierError } from "../../core/index.ts";

/** Letters, digits, `.`, `_`, `-` and `%`, not beginning with a dot: what every file system and object store takes. */
const allowed = /^[A-Za-z0-9_%-][A-Za-z0-9._%-]{0,199}$/;

export const isName = (name: string): boolean => allowed.test(name);

/** Refuses names of checkpoints and files that could leave the store or hide in it. */
export function checkName(name: string): void {
  if (isName(name)) return;
  throw new EspalierError("STORE_NAME", `"${name}" cannot be the name of a checkpoint or of a file in one`, {
    fix: "use letters, digits, dots, dashes and underscores, not beginning with a dot, at most 200",
  });
}

/** The error of a file that is not there. */
export const missingFile = (path: string, cause?: unknown): EspalierError =>
  new EspalierError("FILE_MISSING", `there is no file ${path}`, { cause });

/** The error of a checkpoint that is there already. */
export const alreadyThere = (path: string): EspalierError =>
  new EspalierError("CHECKPOINT_EXISTS", `there is a checkpoint ${path} already`, {
    fix: "choose another name: what has been committed never changes",
  });
