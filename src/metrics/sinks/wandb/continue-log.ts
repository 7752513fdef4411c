import type { Counters } from "../../../schedule/index.ts";
import type { SinkFiles } from "../files.ts";
import { comesAgain } from "../sink.ts";
import { artifactField } from "./artifact-record.ts";
import { LogFile } from "./log-file.ts";
import { readLog } from "./read-log.ts";
import { kind, metricField, runField } from "./records.ts";
import { itemsOf, storedRecord, textOf, timeOf } from "./stored-record.ts";

/** What a log that goes on holds. */
export interface Held {
  /** Milliseconds since 1970. */
  startedAt: number | undefined;
  /** The number that the next row of the history has. */
  nextRow: number;
  /** Metrics and axes that W&B was told of. */
  readonly known: Set<string>;
  /** The newest value of each metric, as JSON, and the last step of each axis. */
  readonly latest: Map<string, string>;
  readonly newest: Map<string, number>;
  /** Artifacts: their digests, and by name what W&B knows the line of versions by. */
  readonly digests: Set<string>;
  readonly sequences: Map<string, string>;
}

export const nothingHeld = (): Held => ({
  startedAt: undefined,
  nextRow: 0,
  known: new Set(),
  latest: new Map(),
  newest: new Map(),
  digests: new Set(),
  sequences: new Map(),
});

/**
 * Goes on with a log: rows that come again, the end of the run and what was not whole are left out. It is written anew
 * beside the old one and takes its place at once, so that a process that is killed meanwhile leaves one of the two.
 */
export function continueLog(
  files: SinkFiles,
  path: string,
  resumedAt: Counters,
): { readonly log: LogFile; readonly held: Held } {
  const fresh = `${path}.new`;
  files.rmSync(fresh, { force: true });
  const log = new LogFile(files, fresh);
  const held = nothingHeld();
  try {
    for (const record of readLog(files, path)) {
      const stored = storedRecord(record);
      if (stays(stored.kind, stored.content, resumedAt, held)) log.copy(record, stored.number);
    }
    log.stage();
    log.commit();
    files.renameSync(fresh, path);
  } catch (error) {
    log.close();
    files.rmSync(fresh, { force: true });
    throw error;
  }
  return { log, held };
}

/** Whether a record stays; if so, what it says is noted. */
function stays(of: number, content: Buffer, resumedAt: Counters, held: Held): boolean {
  switch (of) {
    // Written anew at the end.
    case kind.exit:
    case kind.summary:
      return false;
    case kind.history: {
      const items = itemsOf(content);
      const [axis = "", json = "NaN"] = items[0] ?? [];
      const step = Number(json);
      if (comesAgain({ axis, step }, resumedAt)) return false;
      const late = step < (held.newest.get(axis) ?? Number.NEGATIVE_INFINITY);
      if (!late) held.newest.set(axis, step);
      for (const [key, value] of items) {
        if (key === "_step") held.nextRow = Math.max(held.nextRow, Number(value) + 1);
        if (!late || !held.latest.has(key)) held.latest.set(key, value);
      }
      return true;
    }
    case kind.metric:
      held.known.add(textOf(content, metricField.name));
      return true;
    case kind.run:
      held.startedAt ??= timeOf(content, runField.startedAt);
      return true;
    case kind.artifact:
      held.digests.add(textOf(content, artifactField.digest));
      held.sequences.set(
        textOf(content, artifactField.name),
        textOf(content, artifactField.sequenceClientId),
      );
      return true;
    default:
      return true;
  }
}
