import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { EspalierError } from "../../core/index.ts";

/** Refuses to write over what is there. */
export function checkFree(file: string, force: boolean): void {
  if (force || !existsSync(resolve(file))) return;
  throw new EspalierError("EXPORT_EXISTS", `${file} is there already`, {
    fix: "give another name, or --force to write over it",
  });
}

/** Writes a picture. */
export async function writePicture(file: string, content: string | Uint8Array): Promise<void> {
  try {
    await mkdir(dirname(resolve(file)), { recursive: true });
    await writeFile(file, content);
  } catch (cause) {
    throw new EspalierError("EXPORT_FAILED", `${file} could not be written: ${(cause as Error).message}`, {
      fix: "give a file in a directory that can be written to",
      cause,
    });
  }
}
