import { badOption, checkNames, EspalierError, printableText, shown } from "../../../core/index.ts";
import type { RunInfo } from "../../run-info.ts";
import { type SinkFiles, systemFiles } from "../files.ts";
import type { Sink, SinkOptions } from "../sink.ts";
import type { ArtifactContent } from "./artifact-record.ts";
import { WandbRun } from "./run.ts";
import { syncRun, type WandbSyncOutcome } from "./sync.ts";

/** Options of {@link wandbSink}. */
export interface WandbOptions extends SinkOptions {
  /** Runs are in its folder `wandb`, as W&B's own client has them. */
  readonly directory: string;
  readonly project: string;
  /** The user or team that has the project. Default: that of whoever syncs. */
  readonly entity?: string;
  /** Whether `wandb sync` sends the run when it has ended, with your own login. Default false. */
  readonly sync?: boolean;
  /** Told how that went. Default: a line on standard error. */
  readonly onSync?: (outcome: WandbSyncOutcome) => void;
  /** @internal */
  readonly files?: SinkFiles;
}

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
  checkNames("wandbSink", options, Object.keys(known));
  const { directory, project, entity, files = systemFiles, sync = false, ...rest } = options;
  const { onSync = ({ text }: WandbSyncOutcome) => tell(text), ...general } = rest;
  if (!isName(project)) throw nameError("project", project);
  if (entity !== undefined && !isName(entity)) throw nameError("entity", entity);
  if (typeof sync !== "boolean") throw badOption("wandbSink", `sync is ${shown(sync)}`, "give true or false");
  let run: WandbRun | undefined;
  let synced: Promise<WandbSyncOutcome> | undefined;
  const open = (info: RunInfo): WandbRun => new WandbRun({ files, directory, project, entity }, info);
  return {
    name: "wandb",
    ...general,
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
      run = open(info);
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
        synced.then(onSync).catch((error: unknown) => tell(`wandbSink: onSync failed: ${String(error)}`));
      }
      run = undefined;
    },
  };
}

function tell(text: string): void {
  process.stderr.write(`${printableText(text)}\n`);
}

/** What W&B can have in an address. */
const isName = (name: unknown): boolean =>
  typeof name === "string" && /^[^/\\#?%:\s][^/\\#?%:]{0,127}$/.test(name);

const nameError = (option: string, given: unknown): EspalierError =>
  badOption(
    "wandbSink",
    `${option} is ${JSON.stringify(given)}`,
    "give a name of up to 128 characters, without / \\ # ? % :",
  );

const notOpen = (): EspalierError =>
  new EspalierError("SINK_NOT_OPEN", "the W&B run is not open", {
    fix: "hand the sink to a Logger; it opens the run when training starts",
  });

const known: Readonly<Record<keyof WandbOptions, true>> = {
  name: true,
  schedule: true,
  categories: true,
  metrics: true,
  directory: true,
  project: true,
  entity: true,
  sync: true,
  onSync: true,
  files: true,
};
