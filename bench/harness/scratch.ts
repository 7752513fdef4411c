import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { benchCache } from "./folders.ts";

/** Where this run's files go. It is gone when the run has ended. */
export const folder = join(benchCache(), `scratch-${process.pid}`);

/** The folder, or one in it, made anew. */
export function freshFolder(name = ""): string {
  const path = join(folder, name);
  rmSync(path, { recursive: true, force: true });
  mkdirSync(path, { recursive: true });
  return path;
}

process.once("exit", () => rmSync(folder, { recursive: true, force: true }));

/** Removes what runs that were killed have left. */
export function tidy(): void {
  mkdirSync(benchCache(), { recursive: true });
  for (const name of readdirSync(benchCache())) {
    const [, pid] = /^(?:scratch|checkpoint)-(\d+)$/.exec(name) ?? [];
    if (pid && !isRunning(Number(pid))) rmSync(join(benchCache(), name), { recursive: true, force: true });
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
