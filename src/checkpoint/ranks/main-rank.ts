import { join } from "node:path";
import { EspalierError, isPlainObject } from "../../core/index.ts";
import { type FileSystem, readWhole, writeWhole } from "../store/file-system.ts";
import type { Processes, ProcessIdentity } from "../store/lock.ts";
import { until } from "./until.ts";

/** The file by which rank 0 tells the others that it has the store. */
const file = ".rank-0";

/** The machine on which ranks run. */
export interface Machine {
  readonly fs: FileSystem;
  readonly processes: Processes;
}

/** Rank 0 has taken the store and removed what was left there. Gives what takes the word back. */
export async function announce(root: string, { fs, processes }: Machine): Promise<() => Promise<void>> {
  const path = join(root, file);
  const draft = join(root, `.tmp-${file.slice(1)}`);
  await fs.remove(draft);
  await writeWhole(fs, draft, JSON.stringify(processes.self));
  await fs.rename(draft, path);
  return () => fs.remove(path);
}

/** Waits until rank 0 has the store: what another rank writes before would be taken for a leftover. */
export async function awaitMain(root: string, patience: number, { fs, processes }: Machine): Promise<void> {
  await until(
    patience,
    () => isMainThere(root, { fs, processes }),
    async () =>
      new EspalierError("RANKS_MISSING", `rank 0 has not taken ${root}`, {
        fix: "start rank 0 too, with the same directory",
      }),
  );
}

/** Whether rank 0 has the store and runs. */
export async function isMainThere(root: string, { fs, processes }: Machine): Promise<boolean> {
  const main = await readIdentity(fs, join(root, file));
  return main !== undefined && processes.isRunning(main) !== false;
}

async function readIdentity(fs: FileSystem, path: string): Promise<ProcessIdentity | undefined> {
  try {
    const identity: unknown = JSON.parse(await readWhole(fs, path));
    return isPlainObject(identity) ? (identity as unknown as ProcessIdentity) : undefined;
  } catch {
    return undefined; // Not there yet.
  }
}
