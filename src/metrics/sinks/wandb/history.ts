import { ProtoWriter } from "../../../core/index.ts";
import type { MetricRecord } from "../../record.ts";
import type { Held } from "./continue-log.ts";
import type { LogFile } from "./log-file.ts";
import { addMetric, item, jsonOf, kind, writeItem } from "./records.ts";
import { type Row, rowsOf } from "./rows.ts";

const history = { item: 1, step: 2 } as const;
const step = { number: 1 } as const;
/** Field and type of a JSON value, as they stand before it. */
const JSON_TAG = [0x82, 0x01] as const;
/** What a text begins with, which may hold any character. */
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
  /** What W&B was told of since the mark. */
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
    for (const row of rowsOf(records)) this.#addRow(log, row);
    if (summary.length > 0) log.add(kind.summary, (out) => out.raw(summary.bytes()));
  }

  #tell(log: LogFile, name: string, axis: string | undefined): void {
    addMetric(log, name, axis);
    this.#known.set(name, itemPrefix(name));
    this.#told.push(name);
  }

  #addRow(log: LogFile, { axis, step: at, wall, seconds, values }: Row): void {
    const number = this.#next++;
    const late = at < (this.#newest.get(axis) ?? Number.NEGATIVE_INFINITY);
    if (!late) this.#newest.set(axis, at);
    log.add(kind.history, (out) => {
      const begun = out.length;
      // First, so that whoever goes on with the run finds it at once.
      this.#writeItem(out, axis, jsonOf(at));
      for (const [key, json] of values) this.#writeItem(out, key, json);
      this.#writeItem(out, "_timestamp", jsonOf(wall / 1000));
      this.#writeItem(out, "_runtime", jsonOf(seconds ?? Math.max(0, wall - this.#startedAt) / 1000));
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
      out.text(item.json, json);
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
  out.text(item.nestedKey, key);
  for (const byte of JSON_TAG) out.byte(byte);
  return Uint8Array.from(out.bytes());
}
