import type { Json } from "../../../checkpoint/index.ts";
import { ProtoWriter } from "../../../core/index.ts";
import type { MetricRecord } from "../../record.ts";
import type { RunEnding, RunInfo } from "../../run-info.ts";
import { type MessageValues, writeFields } from "../messages.ts";
import { settingsByPath } from "../sink.ts";

/*
 * The bytes of TensorBoard's event files:
 *
 *   file    record*
 *   record  size (8 bytes), masked crc32c of the size, message, masked crc32c of the message
 *   message Event { wall_time, step, one of: file_version | summary { value* } | session_log }
 */

const event = { wall: 1, step: 2, fileVersion: 3, summary: 5, sessionLog: 7 } as const;
const sessionLog = { status: [1, "integer"] } as const;
const START = 1;
const histogram = {
  min: [1, "double"],
  max: [2, "double"],
  count: [3, "double"],
  sum: [4, "double"],
  sumSquares: [5, "double"],
  limits: [6, "doubles"],
  counts: [7, "doubles"],
} as const;
const dimension = { size: [1, "integer"] } as const;
const tensor = { type: [1, "integer"], shape: [2, { axes: [2, dimension] }], texts: [8, "text"] } as const;
const [FLOAT, STRING] = [1, 7];
const plugin = { name: [1, "text"], content: [2, "bytes"] } as const;
const metadata = { plugin: [1, plugin], description: [3, "text"], dataClass: [4, "integer"] } as const;
const TENSOR = 2;
const summaryValue = {
  tag: [1, "text"],
  number: [2, "float"],
  histogram: [5, histogram],
  tensor: [8, tensor],
  metadata: [9, metadata],
} as const;
const summary = { value: [1, summaryValue] } as const;

/** The size of a record and the checksum of that. */
const HEADER = 12;

/** Writes events, each framed as a TensorFlow record. */
export class EventWriter extends ProtoWriter {
  #start = 0;
  #summary = 0;

  /** Begins an event that holds values. TensorBoard's steps are integers, its wall times seconds. */
  beginValues(wall: number, step: number): void {
    this.#begin(wall, step);
    this.#summary = this.begin(event.summary);
  }

  endValues(): void {
    this.end(this.#summary);
    this.#end();
  }

  /** The first event of every file. From this version on steps may go backwards. */
  fileVersion(wall: number): void {
    this.#begin(wall, 0);
    this.text(event.fileVersion, "brain.Event:2");
    this.#end();
  }

  /** Marks the start of a process: readers drop what earlier files of the run hold from this step on. */
  sessionStart(wall: number, step: number): void {
    this.#begin(wall, step);
    writeFields(this, { log: [event.sessionLog, sessionLog] }, { log: { status: START } });
    this.#end();
  }

  #begin(wall: number, step: number): void {
    this.#start = this.claim(HEADER) + HEADER;
    this.double(event.wall, wall / 1000);
    const whole = Number.isFinite(step) ? Math.floor(step) : 0;
    if (whole !== 0) this.integer(event.step, whole);
  }

  #end(): void {
    const start = this.#start;
    const size = this.length - start;
    this.rawUint32(size, start - HEADER);
    this.rawUint32(0, start - 8);
    this.rawUint32(masked(crc32c(this.buffer, start - HEADER, start - 4)), start - 4);
    this.rawUint32(masked(crc32c(this.buffer, start, start + size)));
  }
}

/** The encoded value of a number without its last four bytes, the number itself. The same for all values of a key. */
export function numberPrefix(key: string): Uint8Array {
  const out = new ProtoWriter(64);
  writeFields(out, summary, { value: { tag: key, number: 0 } });
  return Uint8Array.from(out.bytes().subarray(0, -4));
}

/** Writes the value of a record. The `first` value of a metric also carries its description. */
export function writeValue(out: ProtoWriter, record: MetricRecord, first: boolean): void {
  const { key: tag, value } = record;
  const description = (first && descriptionOf(record)) || undefined;
  const described = (name: string) =>
    description === undefined ? undefined : { plugin: { name }, description };
  if (typeof value === "number")
    writeFields(out, summary, { value: { tag, metadata: described("scalars"), number: value } });
  else if (typeof value === "string")
    writeFields(out, summary, {
      value: {
        tag,
        metadata: { plugin: { name: "text" }, description, dataClass: TENSOR },
        tensor: { type: STRING, shape: {}, texts: value },
      },
    });
  else {
    const { min, max, count, sum, sumSquares, edges, counts } = value;
    // TensorBoard's buckets end at their limits and begin at the one before, the first at the least number.
    const buckets = { min, max, count, sum, sumSquares, limits: edges.slice(1), counts };
    writeFields(out, summary, { value: { tag, metadata: described("histograms"), histogram: buckets } });
  }
}

/** The name of the metric where it differs from its key, and its unit. */
function descriptionOf({ key, category, name, unit }: MetricRecord): string {
  const parts: string[] = [];
  if (key !== `${category}/${name}`) parts.push(`logged as ${JSON.stringify(`${category}/${name}`)}`);
  if (unit !== undefined) parts.push(`in ${unit}`);
  return parts.join(", ");
}

// Hyperparameters: two values of the plugin "hparams", one at the start of a run and one at its end.

const setting = { number: [2, "double"], text: [3, "text"], boolean: [4, "boolean"] } as const;
const session = {
  start: [3, { parameters: [1, { key: [1, "text"], value: [2, setting] }], time: [5, "double"] }],
  end: [4, { status: [1, "integer"], time: [2, "double"] }],
} as const;
const [SUCCESS, FAILURE] = [1, 2];

/** Writes the settings of the run for the dashboard that compares runs by them. It finds the metrics by itself. */
export function writeSessionStart(out: ProtoWriter, { config, startedAt }: RunInfo): void {
  const parameters = settingsByPath(config).map(([key, value]) => ({ key, value: settingOf(value) }));
  writeSession(out, "_hparams_/session_start_info", { start: { parameters, time: startedAt / 1000 } });
}

function settingOf(value: Json): MessageValues<typeof setting> {
  if (typeof value === "number") return { number: value };
  if (typeof value === "boolean") return { boolean: value };
  return { text: typeof value === "string" ? value : JSON.stringify(value) };
}

/** Writes how the run ended. Not called for an interrupted run: it goes on, and TensorBoard keeps the first status. */
export function writeSessionEnd(out: ProtoWriter, { outcome }: RunEnding, wall: number): void {
  const status = outcome === "failed" ? FAILURE : SUCCESS;
  writeSession(out, "_hparams_/session_end_info", { end: { status, time: wall / 1000 } });
}

/** A value that belongs to the plugin and to no metric: an empty tensor, with the content in its metadata. */
function writeSession(out: ProtoWriter, tag: string, values: MessageValues<typeof session>): void {
  const content = new ProtoWriter();
  writeFields(content, session, values);
  writeFields(out, summary, {
    value: {
      tag,
      metadata: { plugin: { name: "hparams", content: content.bytes() }, dataClass: TENSOR },
      tensor: { type: FLOAT, shape: { axes: { size: 0 } } },
    },
  });
}

/** TensorFlow masks its checksums, so that the checksum of data which holds checksums is not weak. */
const masked = (crc: number): number => (((crc >>> 15) | (crc << 17)) + 0xa282ead8) >>> 0;

/** Castagnoli's checksum (zlib has another) of `bytes` between two positions, eight bytes at a time. */
export function crc32c(bytes: Uint8Array, from: number, to: number): number {
  crcTables ??= makeCrcTables();
  const tables = crcTables;
  let crc = ~0;
  let at = from;
  // All indices are in range: positions below `to`, and eight bits plus the start of a table.
  for (; at + 8 <= to; at += 8) {
    crc ^= bytes[at] as number;
    crc ^= (bytes[at + 1] as number) << 8;
    crc ^= (bytes[at + 2] as number) << 16;
    crc ^= (bytes[at + 3] as number) << 24;
    crc =
      (tables[1792 + (crc & 255)] as number) ^
      (tables[1536 + ((crc >>> 8) & 255)] as number) ^
      (tables[1280 + ((crc >>> 16) & 255)] as number) ^
      (tables[1024 + (crc >>> 24)] as number) ^
      (tables[768 + (bytes[at + 4] as number)] as number) ^
      (tables[512 + (bytes[at + 5] as number)] as number) ^
      (tables[256 + (bytes[at + 6] as number)] as number) ^
      (tables[bytes[at + 7] as number] as number);
  }
  for (; at < to; at++) crc = (tables[(crc ^ (bytes[at] as number)) & 255] as number) ^ (crc >>> 8);
  return ~crc >>> 0;
}

const CASTAGNOLI = 0x82f63b78;
let crcTables: Uint32Array | undefined;

/** Table 0 is for one byte, table n for one byte that n others follow. */
function makeCrcTables(): Uint32Array {
  const tables = new Uint32Array(8 * 256);
  for (let i = 0; i < 256; i++) {
    let crc = i;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ CASTAGNOLI : crc >>> 1;
    tables[i] = crc;
  }
  for (let i = 256; i < tables.length; i++) {
    const before = tables[i - 256] as number;
    tables[i] = (before >>> 8) ^ (tables[before & 255] as number);
  }
  return tables;
}
