import { existsSync, readdirSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";

/** Where W&B's client keeps its runs, within the directory that it is given. */
const runsOf = (directory: string): string => join(directory, "wandb");

export const logPath = (runDirectory: string, id: string): string => join(runDirectory, `run-${id}.wandb`);

/** A directory for a run that begins now, by local time as W&B's client names them. None is there yet. */
export function newRunDirectory(directory: string, id: string, startedAt: number): string {
  for (let time = startedAt; ; time += 1000) {
    const path = join(runsOf(directory), `offline-run-${stamp(new Date(time))}-${id}`);
    if (!existsSync(path)) return path;
  }
}

/** Directories of a run that have a log, oldest first. */
export function runDirectories(directory: string, id: string): readonly string[] {
  try {
    const isRun = (name: string): boolean => /^offline-run-\d{8}_\d{6}-/.test(name) && name.slice(28) === id;
    return readdirSync(runsOf(directory))
      .filter(isRun)
      .sort()
      .map((name) => join(runsOf(directory), name))
      .filter((path) => existsSync(logPath(path, id)));
  } catch {
    return [];
  }
}

/** Whether `wandb sync` has sent it or begun to: what is sent once more may be counted twice. */
export const isSynced = (log: string): boolean =>
  existsSync(`${log}.synced`) || existsSync(`${log}.syncstate`);

/** Has `wandb leet` show this run when nothing is said. */
export function linkLatest(directory: string, runDirectory: string): void {
  const link = join(runsOf(directory), "latest-run");
  try {
    rmSync(link, { force: true });
    symlinkSync(runDirectory.slice(runsOf(directory).length + 1), link, "dir");
  } catch {
    // A convenience: not every file system has links.
  }
}

function stamp(time: Date): string {
  const two = (value: number): string => String(value).padStart(2, "0");
  const day = `${time.getFullYear()}${two(time.getMonth() + 1)}${two(time.getDate())}`;
  return `${day}_${two(time.getHours())}${two(time.getMinutes())}${two(time.getSeconds())}`;
}
