import { readdirSync } from "node:fs";
import { join } from "node:path";
import type { Counters } from "../../../schedule/index.ts";
import type { MetricRecord } from "../../record.ts";
import type { SinkFiles } from "../files.ts";
import { EventRun, eventFiles } from "./event-run.ts";

const LATE = "late";
const BY = "by-";

interface AxisRuns {
  /** Up to here, earlier processes may have filed values. */
  readonly floor: number;
  readonly main: EventRun;
  late: EventRun | undefined;
}

/**
 * The runs of TensorBoard's that one of ours is: its directory itself for what is counted in steps; `by-<axis>` for
 * what is counted on another axis, because a step to begin anew from is one of a whole run; and `late` in each for
 * values that come after later ones of the same metric, because TensorBoard's fast loader takes a step that goes
 * backwards for a restart and forgets what came after it.
 */
export class EventRuns {
  readonly #files: SinkFiles;
  readonly #directory: string;
  readonly #wall: number;
  readonly #resumedAt: Counters | undefined;
  readonly #axes = new Map<string, AxisRuns>();
  /** All that are open. */
  readonly #runs: EventRun[] = [];

  /** Makes files where there are some already, and in the directory itself. */
  constructor(files: SinkFiles, directory: string, wall: number, resumedAt: Counters | undefined) {
    this.#files = files;
    this.#directory = directory;
    this.#wall = wall;
    this.#resumedAt = resumedAt;
    try {
      for (const axis of existing(directory)) this.#of(axis);
    } catch (error) {
      this.close();
      throw error;
    }
  }

  /** Files all records, or none and throws. */
  write(records: readonly MetricRecord[]): void {
    this.#together(() => {
      for (const record of records) {
        const runs = this.#of(record.axis);
        if (record.step <= runs.floor || runs.main.isPast(record)) this.#late(record.axis, runs).add(record);
        else runs.main.add(record);
      }
    });
  }

  /** As {@link write}, for what is no metric. */
  writeMain(write: (run: EventRun) => void): void {
    this.#together(() => write(this.#of("steps").main));
  }

  close(): void {
    for (const run of this.#runs) run.close();
    this.#runs.length = 0;
    this.#axes.clear();
  }

  #together(add: () => void): void {
    try {
      add();
      for (const run of this.#runs) run.stage();
    } catch (error) {
      for (const run of this.#runs) run.drop();
      throw error;
    }
    for (const run of this.#runs) run.commit();
  }

  #of(axis: string): AxisRuns {
    const found = this.#axes.get(axis);
    if (found) return found;
    const floor = this.#resumedAt?.[axis] ?? Number.NEGATIVE_INFINITY;
    const runs: AxisRuns = { floor, main: this.#open(axis, false), late: undefined };
    this.#axes.set(axis, runs);
    if (eventFiles(join(this.#directory, folderOf(axis, true))).length > 0) this.#late(axis, runs);
    return runs;
  }

  #late(axis: string, runs: AxisRuns): EventRun {
    runs.late ??= this.#open(axis, true);
    return runs.late;
  }

  #open(axis: string, late: boolean): EventRun {
    const reached = this.#resumedAt?.[axis];
    // A new run voids all; one that goes on, what comes again; on an axis that nobody knows nothing is void.
    const again = reached !== undefined ? Math.floor(reached) + 1 : this.#resumedAt ? undefined : 0;
    const directory = join(this.#directory, folderOf(axis, late));
    const run = new EventRun(this.#files, directory, this.#wall, again);
    this.#runs.push(run);
    return run;
  }
}

const folderOf = (axis: string, late: boolean): string =>
  join(axis === "steps" ? "" : `${BY}${encodeURIComponent(axis)}`, late ? LATE : "");

/** The axes that earlier processes wrote, and the one that is always there. */
function existing(directory: string): readonly string[] {
  try {
    const folders = readdirSync(directory).filter((name) => name.startsWith(BY));
    return ["steps", ...folders.map((name) => decodeURIComponent(name.slice(BY.length)))];
  } catch {
    // There is no directory yet, or a folder in it that is not ours.
    return ["steps"];
  }
}
