import { closeSync, fsyncSync, openSync } from "node:fs";

/** Returns once the disk is done with what was removed here, so that whoever is timed next does not wait for it. */
export function settled(folder: string): void {
  const directory = openSync(folder, "r");
  try {
    fsyncSync(directory);
  } finally {
    closeSync(directory);
  }
}
