import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { EspalierError } from "../../../core/index.ts";

/** Formats a run can be exported to. TensorBoard's is a directory of event files, the others are one file each. */
export const FORMATS = ["csv", "jsonl", "tensorboard"] as const;
export type Format = (typeof FORMATS)[number];

/** Where an export goes. It is written beside its place first, so that half an export never looks like a whole one. */
export interface Target {
  /** As people are told; `-` is standard output. */
  readonly name: string;
  /** What the sink writes to. */
  readonly path: string;
  /** Puts what was written in its place. */
  commit(): void;
  /** Removes what was left unfinished, if anything. */
  clean(): void;
}

/** Chooses the place of an export; refuses one that is taken unless `force`. */
export function exportTarget(
  run: string,
  format: Format,
  { out, force = false }: { readonly out?: string; readonly force?: boolean },
): Target {
  const name = out ?? (format === "tensorboard" ? `${run}-tensorboard` : `${run}.${format}`);
  if (name === "-") return pipeTarget(run, format);
  const final = resolve(name);
  if (!force && isTaken(final, format))
    throw new EspalierError("EXPORT_EXISTS", `${name} is there already`, {
      fix: "give another path with --out, or --force to write over it",
    });
  if (existsSync(final) && statSync(final).isDirectory() !== (format === "tensorboard"))
    throw new EspalierError(
      "EXPORT_EXISTS",
      `${name} is a ${format === "tensorboard" ? "file" : "directory"}`,
      {
        fix: "give another path with --out",
      },
    );
  const draft = draftBeside(final, name);
  const path = join(draft, basename(final));
  return {
    name,
    path,
    clean: () => rmSync(draft, { recursive: true, force: true }),
    commit: () => (format === "tensorboard" ? placeDirectory(path, final) : renameSync(path, final)),
  };
}

/** A directory on the same disk, so that putting the export in its place is one step. */
function draftBeside(final: string, name: string): string {
  try {
    mkdirSync(dirname(final), { recursive: true });
    return mkdtempSync(join(dirname(final), `.${basename(final)}-`));
  } catch (error) {
    throw exportFailed(name, error);
  }
}

/** An error of the file system as one that says what to do. */
export const exportFailed = (name: string, cause: unknown): EspalierError =>
  new EspalierError(
    "EXPORT_FAILED",
    `${name === "-" ? "standard output" : name} could not be written: ${cause instanceof Error ? cause.message : String(cause)}`,
    { fix: "see that the place can be written to and has room, or give another with --out", cause },
  );

function pipeTarget(run: string, format: Format): Target {
  if (format === "tensorboard")
    throw new EspalierError("EXPORT_TARGET", "event files cannot be written to standard output", {
      fix: "give a directory with --out, or export to csv or jsonl",
    });
  const draft = mkdtempSync(join(tmpdir(), "espalier-export-"));
  return {
    name: "-",
    path: join(draft, `${run}.${format}`),
    commit: () => undefined,
    clean: () => rmSync(draft, { recursive: true, force: true }),
  };
}

const isTaken = (path: string, format: Format): boolean =>
  existsSync(path) &&
  (format !== "tensorboard" || !statSync(path).isDirectory() || readdirSync(path).length > 0);

/** Files of a directory and of those in it, relative to it. */
const filesIn = (directory: string): readonly string[] =>
  readdirSync(directory, { recursive: true, encoding: "utf8" }).filter((name) =>
    statSync(join(directory, name)).isFile(),
  );

/** Replaces the event files of an earlier export. Whatever else lies there is not ours to remove. */
function placeDirectory(path: string, final: string): void {
  if (!existsSync(final)) {
    renameSync(path, final);
    return;
  }
  for (const name of filesIn(final)) if (basename(name).includes(".tfevents.")) rmSync(join(final, name));
  for (const name of filesIn(path)) {
    mkdirSync(dirname(join(final, name)), { recursive: true });
    renameSync(join(path, name), join(final, name));
  }
}
