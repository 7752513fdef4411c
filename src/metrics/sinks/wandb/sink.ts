import {
  checkOptions,
  EspalierError,
  node,
  type Options,
  option,
  outputPath,
  printableText,
  toStandardError,
} from "../../../core/index.ts";
import type { MetricRecord } from "../../record.ts";
import type { RunEnding, RunInfo } from "../../run-info.ts";
import { filesOption, type SinkFiles, systemFiles } from "../files.ts";
import { filedUpTo, type Sink, sinkOptions } from "../sink.ts";
import { type ArtifactContent, clientId, digestOf, writeArtifact } from "./artifact.ts";
import { continueLog, type Held, History, nothingHeld } from "./history.ts";
import { LogFile } from "./log-file.ts";
import { addConfig, addExit, addHeader, addRun, addSummary, kind, type WandbProject } from "./records.ts";

// Runs for Weights & Biases, written offline as its own client writes them:
//
//   wandbSink       the sink, and `wandb sync` at the end                      this file
//   WandbRun        a run's directory, being written: a new one, or one gone on with
//   History         records as rows; what a log that goes on holds             history.ts
//   add..., write   the messages, in protocol buffers, and how they are read   records.ts
//   LogFile         the .wandb file: a log of records in blocks                log-file.ts
//   wandbArtifact   checkpoints as versions of an artifact                     artifact.ts

const nameText = "a name of up to 128 characters, without / \\ # ? % :";
/** A name that W&B can have in an address. */
const isName = (name: unknown): boolean =>
  typeof name === "string" && /^[^/\\#?%:\s][^/\\#?%:]{0,127}$/.test(name);

const wandbOptions = {
  ...sinkOptions,
  /** Runs are in its folder `wandb`, as W&B's own client has them. */
  directory: option.text({ required: true }),
  project: option.made<string, { readonly required: true }>(nameText, isName, { required: true }),
  /** The user or team that has the project. Default: that of the login that syncs. */
  entity: option.made<string>(nameText, isName, {}),
  /** Has `wandb sync` send the run when it has ended, with your own login. Default: false. */
  sync: option.flag({}),
  /** Told how that went. Default: a line on standard error. */
  onSync: option.function<(outcome: WandbSyncOutcome) => void>("a function of the outcome", {}),
  /** @internal */
  files: filesOption,
};

/** Options of {@link wandbSink}. */
export interface WandbOptions extends Options<typeof wandbOptions> {}

/** A sink to which artifacts can be added too: see {@link wandbArtifact}. */
export interface WandbSink extends Sink {
  readonly project: string;
  readonly entity: string | undefined;
  /** The run's directory, which `wandb sync` takes. Undefined until the run is open. */
  readonly runDirectory: string | undefined;
  /** How `wandb sync` went, once the run has ended. Undefined where `sync` is not asked for, and before that. */
  readonly synced: Promise<WandbSyncOutcome> | undefined;
  /** Files an artifact into the run. One with the same files as another of the run is filed once. */
  addArtifact(artifact: ArtifactContent): void;
}

/**
 * A run for Weights & Biases, written offline: `wandb sync runs/mnist/wandb/offline-run-...` sends it, and
 * `sync: true` runs that at the end. **Online W&B, which shows a run while it goes on, is left out for now.**
 *
 * Every row of the history has the values of one step, and the step itself under the name of its axis (`steps`), by
 * which W&B draws the charts. `_step`, W&B's own, only numbers the rows: a late value stands on a later row, with the
 * step that it belongs to. NaN and infinity are kept; numbers are exact.
 *
 * A resumed run goes on in its directory, from which what comes again is removed before, so that nothing is counted
 * twice however often it was killed. Where that was synced already it cannot be taken back: the run goes on in a new
 * directory, which is to be synced after the first and is then appended to it; only rows that were synced beyond the
 * checkpoint stand in W&B twice.
 *
 * @example
 * ```ts
 * const logger = new Logger({ sinks: [wandbSink({ directory: "runs/mnist", project: "mnist" })] });
 * ```
 */
export function wandbSink(options: WandbOptions): WandbSink {
  checkOptions("wandbSink", options, wandbOptions);
  const { project, entity, files = systemFiles(), sync = false, ...rest } = options;
  const directory = outputPath(options.directory);
  const { onSync = ({ text }: WandbSyncOutcome) => toStandardError(printableText(text)), ...general } = rest;
  let run: WandbRun | undefined;
  let synced: Promise<WandbSyncOutcome> | undefined;
  return {
    ...general,
    name: general.name ?? "wandb",
    project,
    entity,
    get runDirectory() {
      return run?.directory;
    },
    get synced() {
      return synced;
    },
    open(info) {
      run?.close();
      run = undefined;
      run = new WandbRun({ files, directory, project, entity }, info);
    },
    write(records) {
      if (!run) throw notOpen();
      run.write(records);
    },
    addArtifact(artifact) {
      if (!run) throw notOpen();
      run.addArtifact(artifact);
    },
    close(ending) {
      run?.end(ending);
      run?.close();
      // Not waited for: sending takes as long as it takes, and is no part of the run.
      if (sync && run) {
        synced = syncRun(run.directory);
        synced
          .then(onSync)
          .catch((error: unknown) => toStandardError(printableText(`wandbSink: onSync failed: ${error}`)));
      }
      run = undefined;
    },
  };
}

const notOpen = (): EspalierError =>
  new EspalierError("SINK_NOT_OPEN", "the W&B run is not open", {
    fix: "hand the sink to a Logger; it opens the run when training starts",
  });

interface WandbPlace extends WandbProject {
  readonly files: SinkFiles;
  readonly directory: string;
}

/** A run of W&B's in its directory, being written. */
class WandbRun {
  readonly directory: string;
  readonly #id: string;
  readonly #place: WandbPlace;
  readonly #log: LogFile;
  readonly #held: Held;
  readonly #history: History;

  constructor(place: WandbPlace, run: RunInfo) {
    this.#place = place;
    this.#id = run.id;
    const filed = filedUpTo(run);
    const last = filed && runDirectories(place.directory, run.id).at(-1);
    const goesOn = filed !== undefined && last !== undefined && !isSynced(logPath(last, run.id));
    this.directory = goesOn ? last : newRunDirectory(place.directory, run.id, run.startedAt);
    const file = logPath(this.directory, run.id);
    let log: LogFile | undefined;
    try {
      const continued = goesOn ? continueLog(place.files, file, filed) : undefined;
      log = continued?.log ?? new LogFile(place.files, file);
      this.#log = log;
      this.#held = continued?.held ?? nothingHeld();
      this.#history = new History(this.#held.startedAt ?? run.startedAt, this.#held);
      this.#together(() => this.#begin(run));
    } catch (error) {
      log?.close();
      if (!goesOn) place.files.rmSync(this.directory, { recursive: true, force: true });
      throw error;
    }
    linkLatest(place.directory, this.directory);
  }

  /** Files all records, or none and throws. */
  write(records: readonly MetricRecord[]): void {
    this.#together(() => this.#history.add(this.#log, records), this.#history.mark());
  }

  addArtifact(artifact: ArtifactContent): void {
    const { digests, sequences } = this.#held;
    const digest = digestOf(artifact.files);
    if (digests.has(digest)) return;
    const sequence = sequences.get(artifact.name) ?? clientId();
    const of = { ...this.#place, runId: this.#id, sequence };
    this.#together(() => this.#log.add(kind.artifact, (out) => writeArtifact(out, of, artifact)));
    digests.add(digest);
    sequences.set(artifact.name, sequence);
  }

  /** Says how it ended. */
  end(ending: RunEnding): void {
    this.#together(() => addExit(this.#log, ending));
  }

  close(): void {
    this.#log.close();
  }

  #begin(run: RunInfo): void {
    const { startedAt, latest } = this.#held;
    if (startedAt === undefined) {
      addHeader(this.#log);
      addRun(this.#log, run, this.#place, run.resumedAt !== undefined);
    } else {
      addConfig(this.#log, run.config);
      addSummary(this.#log, latest);
    }
  }

  #together(add: () => void, undo?: () => void): void {
    try {
      add();
      this.#log.stage();
    } catch (error) {
      this.#log.drop();
      undo?.();
      throw error;
    }
    this.#log.commit();
  }
}

/** Where W&B's client keeps its runs, within the directory that it is given. */
const runsOf = (directory: string): string => node.path.join(directory, "wandb");

const logPath = (runDirectory: string, id: string): string => node.path.join(runDirectory, `run-${id}.wandb`);

/** A directory for a run that begins now, by local time as W&B's client names them. None is there yet. */
function newRunDirectory(directory: string, id: string, startedAt: number): string {
  for (let time = startedAt; ; time += 1000) {
    const made = node.path.join(runsOf(directory), `offline-run-${stamp(new Date(time))}-${id}`);
    if (!node.fs.existsSync(made)) return made;
  }
}

/** Directories of a run that have a log, oldest first. */
function runDirectories(directory: string, id: string): readonly string[] {
  try {
    const isRun = (name: string): boolean => /^offline-run-\d{8}_\d{6}-/.test(name) && name.slice(28) === id;
    return node.fs
      .readdirSync(runsOf(directory))
      .filter(isRun)
      .sort()
      .map((name) => node.path.join(runsOf(directory), name))
      .filter((found) => node.fs.existsSync(logPath(found, id)));
  } catch {
    return [];
  }
}

/** True where `wandb sync` has sent it or begun to: what is sent once more may be counted twice. */
const isSynced = (log: string): boolean =>
  node.fs.existsSync(`${log}.synced`) || node.fs.existsSync(`${log}.syncstate`);

/** Has `wandb leet` show this run when nothing is said. */
function linkLatest(directory: string, runDirectory: string): void {
  const link = node.path.join(runsOf(directory), "latest-run");
  try {
    node.fs.rmSync(link, { force: true });
    node.fs.symlinkSync(runDirectory.slice(runsOf(directory).length + 1), link, "dir");
  } catch {
    // A convenience: not every file system has links.
  }
}

function stamp(time: Date): string {
  const two = (value: number): string => String(value).padStart(2, "0");
  const day = `${time.getFullYear()}${two(time.getMonth() + 1)}${two(time.getDate())}`;
  return `${day}_${two(time.getHours())}${two(time.getMinutes())}${two(time.getSeconds())}`;
}

/** How `wandb sync` of a run's directory went. */
export interface WandbSyncOutcome {
  readonly directory: string;
  readonly outcome: "sent" | "failed" | "notFound";
  /** The exit code of `wandb`; null where a signal ended it, or where it was not found. */
  readonly code: number | null;
  /** The last lines that it printed. */
  readonly said: string;
  /** The same in words, with what to do where it failed. */
  readonly text: string;
}

/** Of what it prints, the lines that are told. */
const mostLines = 5;

/**
 * Runs the user's own `wandb sync DIRECTORY`, in the background. Never fails: how it went is the result. The process
 * stays until it is over.
 */
function syncRun(directory: string): Promise<WandbSyncOutcome> {
  const { execFile } = node.childProcess;
  // On Windows commands of Python packages are scripts.
  const options = { maxBuffer: Number.POSITIVE_INFINITY, shell: process.platform === "win32" };
  return new Promise((resolve) => {
    const child = execFile("wandb", ["sync", directory], options, (error, stdout, stderr) => {
      const said = `${stdout}${stderr}`.trim().split("\n").slice(-mostLines).join("\n");
      const end = (outcome: WandbSyncOutcome["outcome"], code: number | null, text: string) =>
        resolve({ directory, outcome, code, said, text: printableText(text) });
      if (!error) return end("sent", 0, `wandb sync: ${directory} is sent`);
      const { code, signal, message } = error;
      // The name of an error of the system: it could not be started.
      if (typeof code === "string") {
        const [why, fix] =
          code === "ENOENT"
            ? ["there is no command wandb", "install it (pip install wandb)"]
            : [message, "mend that"];
        const text = `wandb sync: ${why}\n  fix: ${fix} and run: wandb sync ${directory}`;
        return end(code === "ENOENT" ? "notFound" : "failed", null, text);
      }
      const how = typeof code === "number" ? `failed with exit code ${code}` : `was ended by ${signal}`;
      const lines = said === "" ? "" : `\n  ${said.replaceAll("\n", "\n  ")}`;
      const text = `wandb sync ${how}:${lines}\n  fix: mend that and run: wandb sync ${directory}`;
      return end("failed", code ?? null, text);
    });
    child.stdin?.end();
  });
}
