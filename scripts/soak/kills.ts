import { rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { checkLeft, type Left } from "./check.ts";
import { live, type Moment } from "./life.ts";
import { seeded } from "./random.ts";

export interface SoakOptions {
  readonly kills: number;
  /** Decides the moments of all kills. */
  readonly seed: number;
  readonly engine: "wasm" | "xla";
  /** Work goes there: an empty directory. */
  readonly directory: string;
  /** Exports the training set-up; `set-up.ts` unless given. */
  readonly file?: string;
  readonly say?: (line: string) => void;
}

/** What a soak counted. */
export interface SoakCounts {
  kills: number;
  /** Kills while a checkpoint was being written or removed. */
  inFlight: number;
  /** Kills while the process was still starting or restoring. */
  beforeTraining: number;
  /** Kills before there was any checkpoint. */
  beforeFirst: number;
  /** Processes that went on from the newest whole checkpoint. */
  resumes: number;
  /** Checkpoints written. */
  written: number;
  /** Runs that came to their end, each with the same state as the uninterrupted one. */
  completed: number;
  /** The most stray files and directories after a kill. */
  mostStrays: number;
}

/** How many checkpoints stay. */
const keep = 3;
/**
 * Which kills come when: their share, and the longest that a process lives from there, in milliseconds. It doubles
 * with every kill in a row that no new checkpoint came before, so that the run comes on, however slow the machine.
 */
const moments = [
  { from: "start", share: 0.1, longest: 2000 },
  { from: "begun", share: 0.1, longest: 400 },
  { from: "trained", share: 0.8, longest: 500 },
] as const;

/**
 * Trains with a checkpoint at every batch and kills the process again and again at random moments, run after run; the
 * last run is let to its end. Throws at the first thing that is not as it must be.
 */
export async function soakKills(options: SoakOptions): Promise<SoakCounts> {
  const { kills, engine, directory, say = () => undefined } = options;
  const { file = fileURLToPath(new URL("./set-up.ts", import.meta.url)) } = options;
  const random = seeded(options.seed);
  say("an uninterrupted run");
  const request = {
    file,
    checkpoints: { directory: join(directory, "reference"), at: [] },
    endState: join(directory, "reference-end"),
  };
  const { done: reference } = await live("the uninterrupted run", request, engine);
  if (!reference) throw new Error("the uninterrupted run was killed");
  const everyBatch = Array.from({ length: reference.course.batches }, (_, i) => i + 1);
  const counts: SoakCounts = {
    ...{ kills: 0, inFlight: 0, beforeTraining: 0, beforeFirst: 0 },
    ...{ resumes: 0, written: 0, completed: 0, mostStrays: 0 },
  };

  const nextMoment = (inVain: number): Moment => {
    const [which, when] = [random(), random()];
    let reached = 0;
    const chosen = moments.find(({ share }) => {
      reached += share;
      return which < reached;
    });
    const { from, longest } = chosen ?? moments[2];
    return { from, milliseconds: when * longest * 2 ** Math.min(inVain, 6) };
  };

  /** One run: processes that are killed, and one that comes to the end. */
  const run = async (number: number): Promise<void> => {
    const checkpoints = { directory: join(directory, `run-${number}`), at: everyBatch, keep };
    const endState = join(directory, `end-${number}`);
    let left: Left | undefined;
    let inVain = 0;
    for (;;) {
      const moment = counts.kills < kills ? nextMoment(inVain) : undefined;
      const { done, begun } = await live(`run ${number}`, { file, checkpoints, endState }, engine, moment);
      const expected = left?.batches ?? 0;
      if (begun !== undefined && begun !== expected)
        throw new Error(
          `run ${number} went on from batch ${begun}; its newest checkpoint was of ${expected}`,
        );
      if (begun) counts.resumes++;
      const before = left?.sequence ?? 0;
      left = await checkLeft(checkpoints.directory, left, keep);
      inVain = left.sequence > before ? 0 : inVain + 1;
      if (done) {
        if (left.strays.length > 0) throw new Error(`left after the end: ${left.strays.join(", ")}`);
        checkSame(reference.hashes, done.hashes);
        break;
      }
      counts.kills++;
      counts.mostStrays = Math.max(counts.mostStrays, left.strays.length);
      counts.inFlight += Number(left.inFlight);
      counts.beforeTraining += Number(begun === undefined);
      counts.beforeFirst += Number(left.sequence === 0);
      say(`kill ${counts.kills} of ${kills}: run ${number}, batch ${left.batches} of ${everyBatch.length}`);
    }
    counts.written += left.sequence;
    counts.completed++;
    for (const path of [checkpoints.directory, endState]) rmSync(path, { recursive: true });
  };

  while (counts.kills < kills) await run(counts.completed + 1);
  return counts;
}

type Hashes = Readonly<Record<string, string>>;

/** Refuses end states that are not the same. Seconds may differ, and a process without batches has no last metrics. */
export function checkSame(reference: Hashes, resumed: Hashes): void {
  const names = new Set([...Object.keys(reference), ...Object.keys(resumed)]);
  for (const name of names) if (name === "time" || name.endsWith(".time")) names.delete(name);
  if (!("last metrics" in resumed)) names.delete("last metrics");
  const wrong = [...names].filter((name) => reference[name] !== resumed[name]);
  if (wrong.length > 0) throw new Error(`not as in the uninterrupted run: ${wrong.join(", ")}`);
}
