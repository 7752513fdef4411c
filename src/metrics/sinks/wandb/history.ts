import { ProtoWriter } from "../../../core/index.ts";
import type { Counters } from "../../../schedule/index.ts";
import type { MetricRecord } from "../../record.ts";
import type { SinkFiles } from "../files.ts";
import { comesAgain, rowsOf, type StepRow } from "../sink.ts";
import { artifactMessage } from "./artifact.ts";
import { LogFile, readLog } from "./log-file.ts";
import {
  addMetric,
  item,
  itemsOf,
  jsonOf,
  kind,
  metricMessage,
  runMessage,
  storedRecord,
  textOf,
  timeOf,
  writeItem,
} from "./records.ts";

const history = { item: 1, step: 2 } as const;
const step = { number: 1 } as const;
/** Field and type of a JSON value, as they stand before it. */
const JSON_TAG = [0x82, 0x01] as const;
/** The first character of a text, which may hold any others. */
const QUOTE = 34;

/** The history of a run: rows that W&B numbers by `_step`, which only grows. */
export class History {
  readonly #startedAt: number;
  /** Metrics and axes that W&B has been told of, with the beginning of their items. */
  readonly #known = new Map<string, Uint8Array>();
  /** The last step of each axis: what comes before it is late. */
  #newest: Map<string, number>;
  #next: number;
  readonly #summary = new ProtoWriter();
  /** Metrics that W&B was told of since the mark. */
  #told: string[] = [];

  /** Goes on from what the log holds already. */
  constructor(startedAt: number, { nextRow, known, newest }: Pick<Held, "nextRow" | "known" | "newest">) {
    this.#startedAt = startedAt;
    this.#next = nextRow;
    this.#newest = new Map(newest);
    for (const name of known) this.#known.set(name, itemPrefix(name));
  }

  /** Gives what takes back all that is added from now on. */
  mark(): () => void {
    const before = this.#next;
    const newest = new Map(this.#newest);
    const told: string[] = [];
    this.#told = told;
    return () => {
      this.#next = before;
      this.#newest = newest;
      for (const name of told) this.#known.delete(name);
    };
  }

  /** Adds the rows of these records to the log, and their values to the summary, which W&B shows in tables. */
  add(log: LogFile, records: readonly MetricRecord[]): void {
    const summary = this.#summary;
    summary.clear();
    for (const { key, axis } of records) {
      if (this.#known.has(key)) continue;
      if (!this.#known.has(axis)) this.#tell(log, axis, undefined);
      this.#tell(log, key, axis);
    }
    for (const row of rowsOf(records, jsonOf)) this.#addRow(log, row);
    if (summary.length > 0) log.add(kind.summary, (out) => out.raw(summary.bytes()));
  }

  #tell(log: LogFile, name: string, axis: string | undefined): void {
    addMetric(log, name, axis);
    this.#known.set(name, itemPrefix(name));
    this.#told.push(name);
  }

  #addRow(log: LogFile, { axis, step: at, wall, counters, values }: StepRow): void {
    const number = this.#next++;
    const late = at < (this.#newest.get(axis) ?? Number.NEGATIVE_INFINITY);
    if (!late) this.#newest.set(axis, at);
    log.add(kind.history, (out) => {
      const begun = out.length;
      // First, so that a process that goes on with the run finds it at once.
      this.#writeItem(out, axis, jsonOf(at));
      for (const [key, json] of values) this.#writeItem(out, key, json);
      this.#writeItem(out, "_timestamp", jsonOf(wall / 1000));
      this.#writeItem(
        out,
        "_runtime",
        jsonOf(counters.seconds || Math.max(0, wall - this.#startedAt) / 1000),
      );
      this.#writeItem(out, "_step", jsonOf(number));
      // Items of a summary have the same fields.
      if (!late) this.#summary.raw(out.buffer.subarray(begun, out.length));
      const ordinal = out.begin(history.step);
      out.integer(step.number, number);
      out.end(ordinal);
    });
    // Of a metric that has no other value yet, a late one is the newest.
    if (late)
      for (const [key, json] of values) if (this.#told.includes(key)) writeItem(this.#summary, [key], json);
  }

  #writeItem(out: ProtoWriter, key: string, json: string): void {
    const prefix = this.#known.get(key) ?? this.#learn(key);
    const begun = out.begin(history.item);
    out.raw(prefix);
    if (json.length < 128 && json.charCodeAt(0) !== QUOTE) {
      out.byte(json.length);
      out.ascii(json);
    } else {
      out.length -= JSON_TAG.length;
      out.text(item.json[0], json);
    }
    out.end(begun);
  }

  #learn(key: string): Uint8Array {
    const prefix = itemPrefix(key);
    this.#known.set(key, prefix);
    return prefix;
  }
}

/** An item up to its value. */
function itemPrefix(key: string): Uint8Array {
  const out = new ProtoWriter(64);
  out.text(item.nestedKey[0], key);
  for (const byte of JSON_TAG) out.byte(byte);
  return Uint8Array.from(out.bytes());
}

/** Contents of a log that goes on. */
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
 * Goes on with a log: rows that come again, the end of the run and what was not whole are left out. It is written again
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

/** True for a record that stays; what it says is noted. */
function stays(of: number, content: Buffer, resumedAt: Counters, held: Held): boolean {
  switch (of) {
    // Written again at the end.
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
      held.known.add(textOf(content, metricMessage.name[0]));
      return true;
    case kind.run:
      held.startedAt ??= timeOf(content, runMessage.startedAt[0]);
      return true;
    case kind.artifact:
      held.digests.add(textOf(content, artifactMessage.digest[0]));
      held.sequences.set(
        textOf(content, artifactMessage.name[0]),
        textOf(content, artifactMessage.sequenceClientId[0]),
      );
      return true;
    default:
      return true;
  }
}
