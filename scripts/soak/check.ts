import { readdirSync } from "node:fs";
import { CheckpointManager, localStore } from "../../src/checkpoint/index.ts";

/** What a killed process left behind. */
export interface Left {
  /** Batches of the newest whole checkpoint; 0 where there is none yet. */
  readonly batches: number;
  readonly sequence: number;
  readonly checkpoints: number;
  /** Files and directories that are no checkpoints: half-written ones, locks. */
  readonly strays: readonly string[];
  /** Whether a checkpoint was being written. */
  readonly inFlight: boolean;
}

/** The most that one killed process may leave: its lock, and what it was writing or removing. */
const mostStrays = 3;

/**
 * Looks at a directory after a kill. Everything that has a checkpoint's name must be whole, every byte, and the
 * newest must be no older than the newest before; no more than one process's leftovers may lie about.
 */
export async function checkLeft(directory: string, before: Left | undefined, keep: number): Promise<Left> {
  const manager = new CheckpointManager({ store: localStore(directory) });
  const names = readNames(directory);
  const entries = names.length > 0 ? await manager.list() : [];
  for (const { name, problem } of entries) {
    const problems = problem === undefined ? await manager.verify(name) : [problem];
    if (problems.length > 0) throw new Error(`${name} is damaged: ${problems.join("; ")}`);
  }
  const newest = entries.at(-1)?.manifest;
  const left: Left = {
    batches: newest?.counters.batches ?? 0,
    sequence: newest?.sequence ?? 0,
    checkpoints: entries.length,
    strays: names.filter((name) => name.startsWith(".")),
    inFlight: names.some((name) => name.startsWith(".tmp-epoch-")),
  };
  if (before && left.sequence < before.sequence)
    throw new Error(`checkpoint ${before.sequence} was there, and the newest is ${left.sequence} now`);
  // One more before old ones are removed, and the one it was resumed from.
  if (left.checkpoints > keep + 2) throw new Error(`${left.checkpoints} checkpoints have piled up`);
  if (left.strays.length > mostStrays) throw new Error(`strays have piled up: ${left.strays.join(", ")}`);
  return left;
}

export function readNames(directory: string): readonly string[] {
  try {
    return readdirSync(directory);
  } catch (error) {
    // Killed before it was made.
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}
