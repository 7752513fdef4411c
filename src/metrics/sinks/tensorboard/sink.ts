import { checkOptions, node, type Options, option, outputPath, systemClock } from "../../../core/index.ts";
import type { Counters } from "../../../schedule/index.ts";
import type { MetricRecord } from "../../record.ts";
import { filesOption, type SinkFiles, StagedFile, systemFiles } from "../files.ts";
import { clockOption, filedUpTo, type Sink, type SinkOptions, sinkOptions } from "../sink.ts";
import { EventWriter, numberPrefix, writeSessionEnd, writeSessionStart, writeValue } from "./events.ts";

const ownOptions = {
  /** Files the settings of the run for TensorBoard's table of hyperparameters. Default: true. */
  hparams: option.flag({}),
  /** For tests. */
  clock: clockOption,
  /** @internal */
  files: filesOption,
};

/** Options of {@link tensorBoardSink}. */
export interface TensorBoardOptions extends SinkOptions, Options<typeof ownOptions> {}

/**
 * Event files as TensorBoard reads them: numbers, histograms, texts, and the settings of the run. Tags are the keys of
 * the metrics. One directory is one run; several in one folder can be compared: `tensorboard --logdir runs`.
 *
 * TensorBoard keeps numbers as 32-bit floats and steps as integers: other sinks are exact. Metrics on another axis
 * than `steps` appear as a run of their own, `by-<axis>`, and so do late values, under `late`: TensorBoard would take
 * them for a restart and forget what came after them. A resumed run writes a new file, by which TensorBoard drops what
 * the killed process had written after the checkpoint; a new run in an old directory voids all that was there. Only
 * programs that read files with the old `EventAccumulator` see voided texts again.
 *
 * @example
 * ```ts
 * const logger = new Logger({ sinks: [tensorBoardSink("runs/mnist/tensorboard")] });
 * ```
 */
export function tensorBoardSink(directory: string, options: TensorBoardOptions = {}): Sink {
  checkOptions("tensorBoardSink", options, { ...sinkOptions, ...ownOptions });
  const { hparams = true, clock = systemClock, files = systemFiles(), ...general } = options;
  const inside = outputPath(directory);
  let runs: EventRuns | undefined;
  return {
    ...general,
    name: general.name ?? "tensorboard",
    open(run) {
      runs?.close();
      runs = undefined;
      const opened = new EventRuns(files, inside, run.startedAt, filedUpTo(run));
      try {
        if (hparams) opened.writeExtra(run.startedAt, (out) => writeSessionStart(out, run));
      } catch (error) {
        opened.close();
        throw error;
      }
      runs = opened;
    },
    write(records) {
      const first = records[0];
      if (!first) return;
      runs ??= new EventRuns(files, inside, first.wall, undefined);
      runs.write(records);
    },
    close(ending) {
      const wall = clock.wall();
      if (hparams && ending.outcome !== "interrupted")
        runs?.writeExtra(wall, (out) => writeSessionEnd(out, ending, wall));
      runs?.close();
      runs = undefined;
    },
  };
}

const LATE = "late";
const BY = "by-";

/**
 * The TensorBoard runs that make up one of ours: the directory itself for metrics on the axis `steps`; `by-<axis>` for
 * every other axis, because a restart drops steps of a whole run; and `late` in each for values that come after later
 * ones of the same metric, because TensorBoard's fast loader takes a step that goes backwards for a restart.
 */
class EventRuns {
  readonly #files: SinkFiles;
  readonly #directory: string;
  readonly #wall: number;
  readonly #resumedAt: Counters | undefined;
  /** Those that are open, by their axes; late ones with a mark before it. */
  readonly #runs = new Map<string, EventRun>();

  /** Creates a file in the directory itself, and wherever earlier processes wrote some. */
  constructor(files: SinkFiles, directory: string, wall: number, resumedAt: Counters | undefined) {
    this.#files = files;
    this.#directory = directory;
    this.#wall = wall;
    this.#resumedAt = resumedAt;
    try {
      for (const axis of existingAxes(directory)) this.#run(axis);
    } catch (error) {
      this.close();
      throw error;
    }
  }

  /** Files all records, or none and throws. */
  write(records: readonly MetricRecord[]): void {
    this.#together(() => {
      for (const record of records) {
        const { axis, step } = record;
        const main = this.#run(axis);
        // Earlier processes may have filed values up to where the run goes on.
        const isLate = step <= (this.#resumedAt?.[axis] ?? NEVER) || main.isPast(record);
        (isLate ? this.#run(axis, LATE) : main).add(record);
      }
    });
  }

  /** Files an event that belongs to no metric, in the main run. */
  writeExtra(wall: number, write: (out: EventWriter) => void): void {
    this.#together(() => this.#run("steps").addExtra(wall, write));
  }

  close(): void {
    for (const run of this.#runs.values()) run.close();
    this.#runs.clear();
  }

  #together(add: () => void): void {
    try {
      add();
      for (const run of this.#runs.values()) run.stage();
    } catch (error) {
      for (const run of this.#runs.values()) run.drop();
      throw error;
    }
    for (const run of this.#runs.values()) run.commit();
  }

  /** The run of an axis; where it is new, that of its late values is opened too if earlier processes wrote some. */
  #run(axis: string, late = ""): EventRun {
    const name = late === "" ? axis : `${late}\0${axis}`;
    const known = this.#runs.get(name);
    if (known) return known;
    const reached = this.#resumedAt?.[axis];
    // A new run voids everything; a resumed one what comes again; on an unknown axis nothing is void.
    const voidFrom = reached !== undefined ? Math.floor(reached) + 1 : this.#resumedAt ? undefined : 0;
    const ofAxis = axis === "steps" ? "" : `${BY}${encodeURIComponent(axis)}`;
    const folder = node.path.join(this.#directory, ofAxis, late);
    const run = new EventRun(this.#files, folder, this.#wall, voidFrom);
    this.#runs.set(name, run);
    if (late === "" && eventFiles(node.path.join(folder, LATE)).length > 0) this.#run(axis, LATE);
    return run;
  }
}

/** `steps`, and the axes that earlier processes wrote. */
function existingAxes(directory: string): readonly string[] {
  try {
    const folders = node.fs.readdirSync(directory).filter((name) => name.startsWith(BY));
    return ["steps", ...folders.map((name) => decodeURIComponent(name.slice(BY.length)))];
  } catch {
    // There is no directory yet, or a folder in it that is not ours.
    return ["steps"];
  }
}

/** Bytes that are buffered before they go to the file, within one call. */
const PIECE = 1 << 20;
const NEVER = Number.NEGATIVE_INFINITY;

/** A metric in an event file. */
interface Tag {
  readonly prefix: Uint8Array;
  /** Its last step in the file, and its last step once this call is committed. */
  committed: number;
  last: number;
}

/** One TensorBoard run: a directory, into which a process writes one event file. */
class EventRun {
  readonly #file: StagedFile;
  readonly #out = new EventWriter(2 * PIECE);
  readonly #tags = new Map<string, Tag>();
  readonly #changed: Tag[] = [];
  #event: { readonly step: number; readonly wall: number } | undefined;

  /** Creates the file. What earlier files hold from the step `voidFrom` on is void. */
  constructor(files: SinkFiles, directory: string, wall: number, voidFrom: number | undefined) {
    this.#file = new StagedFile(files, node.path.join(directory, freeName(directory, wall)));
    try {
      this.#out.fileVersion(wall);
      if (voidFrom !== undefined) this.#out.sessionStart(wall, voidFrom);
      this.stage();
      this.commit();
    } catch (error) {
      this.close();
      throw error;
    }
  }

  /** True where the metric has a value at this step or after it. */
  isPast({ key, step }: MetricRecord): boolean {
    const tag = this.#tags.get(key);
    return tag !== undefined && step <= tag.last;
  }

  add(record: MetricRecord): void {
    let tag = this.#tags.get(record.key);
    if (!tag) {
      tag = { prefix: numberPrefix(record.key), committed: NEVER, last: NEVER };
      this.#tags.set(record.key, tag);
    }
    const first = tag.last === NEVER;
    if (tag.last === tag.committed) this.#changed.push(tag);
    tag.last = Math.max(tag.last, record.step);
    this.#beginEvent(record.wall, record.step);
    if (first || typeof record.value !== "number") writeValue(this.#out, record, first);
    else {
      this.#out.raw(tag.prefix);
      this.#out.rawFloat(record.value);
    }
  }

  /** Adds an event with one value that belongs to no metric. */
  addExtra(wall: number, write: (out: EventWriter) => void): void {
    this.#beginEvent(wall, 0);
    write(this.#out);
    this.#endEvent();
  }

  stage(): void {
    this.#endEvent();
    this.#file.stage(this.#out.bytes());
    this.#out.clear();
  }

  commit(): void {
    this.#file.commit();
    for (const tag of this.#changed) tag.committed = tag.last;
    this.#changed.length = 0;
  }

  drop(): void {
    this.#event = undefined;
    this.#out.clear();
    this.#file.drop();
    for (const tag of this.#changed) tag.last = tag.committed;
    this.#changed.length = 0;
  }

  close(): void {
    this.#file.close();
  }

  /** Values of one step and one time share an event. */
  #beginEvent(wall: number, step: number): void {
    if (this.#event?.step === step && this.#event.wall === wall) return;
    this.#endEvent();
    if (this.#out.length >= PIECE) this.stage();
    this.#out.beginValues(wall, step);
    this.#event = { step, wall };
  }

  #endEvent(): void {
    if (!this.#event) return;
    this.#out.endValues();
    this.#event = undefined;
  }
}

const named = /^events\.out\.tfevents\.(\d+)\./;

/** The event files of a directory. None where there is no directory. */
function eventFiles(directory: string): readonly string[] {
  try {
    return node.fs.readdirSync(directory).filter((name) => named.test(name));
  } catch {
    return [];
  }
}

let made = 0;

/** Readers order files by name: the new one comes last, whatever the clock says and whichever host wrote the others. */
function freeName(directory: string, wall: number): string {
  const taken = eventFiles(directory).map((name) => Number(named.exec(name)?.[1]));
  const seconds = Math.max(Math.floor(wall / 1000), ...taken.map((time) => time + 1));
  return `events.out.tfevents.${String(seconds).padStart(10, "0")}.${node.os.hostname()}.${process.pid}.${made++}`;
}
