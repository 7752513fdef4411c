import type { MetricRecord } from "../../record.ts";
import type { RunEnding, RunInfo } from "../../run-info.ts";
import type { SinkFiles } from "../files.ts";
import { filedUpTo } from "../sink.ts";
import { type ArtifactContent, clientId, digestOf, writeArtifact } from "./artifact-record.ts";
import { continueLog, type Held, nothingHeld } from "./continue-log.ts";
import { History } from "./history.ts";
import { LogFile } from "./log-file.ts";
import { addConfig, addExit, addHeader, addRun, addSummary, kind, type WandbProject } from "./records.ts";
import { isSynced, linkLatest, logPath, newRunDirectory, runDirectories } from "./run-directory.ts";

export interface WandbPlace extends WandbProject {
  readonly files: SinkFiles;
  readonly directory: string;
}

/** A run of W&B's in its directory, being written. */
export class WandbRun {
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
    const path = logPath(this.directory, run.id);
    let log: LogFile | undefined;
    try {
      const continued = goesOn ? continueLog(place.files, path, filed) : undefined;
      log = continued?.log ?? new LogFile(place.files, path);
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
