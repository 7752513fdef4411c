import type { Json } from "../../../checkpoint/index.ts";
import { ProtoWriter } from "../../../core/index.ts";
import type { Histogram, MetricRecord } from "../../record.ts";
import type { RunEnding, RunInfo } from "../../run-info.ts";

/*
 * The bytes of TensorBoard's event files:
 *
 *   file    record*
 *   record  size (8 bytes), masked crc32c of the size, message, masked crc32c of the message
 *   message Event { wall_time, step, one of: file_version | summary { value* } | session_log }
 */

const event = { wall: 1, step: 2, fileVersion: 3, summary: 5, sessionLog: 7 } as const;
const sessionLog = { status: 1, START: 1 } as const;
const summaryValue = { field: 1, tag: 1, number: 2, histogram: 5, tensor: 8, metadata: 9 } as const;
const metadata = { plugin: 1, description: 3, dataClass: 4, TENSOR: 2 } as const;
const plugin = { name: 1, content: 2 } as const;
const histogram = { min: 1, max: 2, count: 3, sum: 4, sumSquares: 5, limits: 6, counts: 7 } as const;
const tensor = { type: 1, shape: 2, texts: 8, FLOAT: 1, STRING: 7 } as const;
const dimension = { field: 2, size: 1 } as const;

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
    const log = this.begin(event.sessionLog);
    this.integer(sessionLog.status, sessionLog.START);
    this.end(log);
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
  const begun = out.begin(summaryValue.field);
  out.text(summaryValue.tag, key);
  out.float(summaryValue.number, 0);
  out.end(begun);
  return Uint8Array.from(out.bytes().subarray(0, -4));
}

/** Writes the value of a record. The `first` value of a metric also carries its description. */
export function writeValue(out: ProtoWriter, record: MetricRecord, first: boolean): void {
  const begun = out.begin(summaryValue.field);
  out.text(summaryValue.tag, record.key);
  if (typeof record.value === "number") {
    if (first) writeMetadata(out, "scalars", descriptionOf(record));
    out.float(summaryValue.number, record.value);
  } else if (typeof record.value === "string") {
    writeMetadata(out, "text", first ? descriptionOf(record) : "", { tensor: true });
    writeText(out, record.value);
  } else {
    if (first) writeMetadata(out, "histograms", descriptionOf(record));
    writeHistogram(out, record.value);
  }
  out.end(begun);
}

/** The name of the metric where it differs from its key, and its unit. */
function descriptionOf({ key, category, name, unit }: MetricRecord): string {
  const parts: string[] = [];
  if (key !== `${category}/${name}`) parts.push(`logged as ${JSON.stringify(`${category}/${name}`)}`);
  if (unit !== undefined) parts.push(`in ${unit}`);
  return parts.join(", ");
}

function writeMetadata(
  out: ProtoWriter,
  name: string,
  description: string,
  more: { readonly tensor?: boolean; readonly content?: Uint8Array } = {},
): void {
  if (!more.tensor && description === "") return;
  const begun = out.begin(summaryValue.metadata);
  const by = out.begin(metadata.plugin);
  out.text(plugin.name, name);
  if (more.content) {
    const content = out.begin(plugin.content);
    out.raw(more.content);
    out.end(content);
  }
  out.end(by);
  if (description !== "") out.text(metadata.description, description);
  if (more.tensor) out.integer(metadata.dataClass, metadata.TENSOR);
  out.end(begun);
}

function writeText(out: ProtoWriter, text: string): void {
  const begun = out.begin(summaryValue.tensor);
  out.integer(tensor.type, tensor.STRING);
  out.end(out.begin(tensor.shape));
  out.text(tensor.texts, text);
  out.end(begun);
}

/** TensorBoard's buckets end at their limits and begin at the one before, the first at the least number. */
function writeHistogram(out: ProtoWriter, value: Histogram): void {
  const begun = out.begin(summaryValue.histogram);
  out.double(histogram.min, value.min);
  out.double(histogram.max, value.max);
  out.double(histogram.count, value.count);
  out.double(histogram.sum, value.sum);
  out.double(histogram.sumSquares, value.sumSquares);
  out.doubles(histogram.limits, value.edges.slice(1));
  out.doubles(histogram.counts, value.counts);
  out.end(begun);
}

// Hyperparameters: two values of the plugin "hparams", one at the start of a run and one at its end.

const session = { start: 3, end: 4 } as const;
const sessionStart = { parameters: 1, time: 5 } as const;
const sessionEnd = { status: 1, time: 2, SUCCESS: 1, FAILURE: 2 } as const;
const entry = { key: 1, value: 2 } as const;
const setting = { number: 2, text: 3, boolean: 4 } as const;

/** Writes the settings of the run for the dashboard that compares runs by them. It finds the metrics by itself. */
export function writeSessionStart(out: ProtoWriter, { config, startedAt }: RunInfo): void {
  const content = new ProtoWriter();
  const begun = content.begin(session.start);
  for (const [name, value] of hyperparameters(config)) {
    const parameter = content.begin(sessionStart.parameters);
    content.text(entry.key, name);
    const held = content.begin(entry.value);
    if (typeof value === "number") content.double(setting.number, value);
    else if (typeof value === "boolean") content.boolean(setting.boolean, value);
    else content.text(setting.text, value);
    content.end(held);
    content.end(parameter);
  }
  content.double(sessionStart.time, startedAt / 1000);
  content.end(begun);
  writePluginData(out, "_hparams_/session_start_info", "hparams", content.bytes());
}

/** Settings as TensorBoard compares them: one by one, nested ones by their path, lists as JSON. */
export function hyperparameters(config: Json): ReadonlyMap<string, number | string | boolean> {
  const found = new Map<string, number | string | boolean>();
  const visit = (at: Json, path: string): void => {
    if (typeof at === "object" && at !== null && !Array.isArray(at))
      for (const [name, inner] of Object.entries(at)) visit(inner, path === "" ? name : `${path}.${name}`);
    else if (typeof at === "number" || typeof at === "boolean" || typeof at === "string")
      found.set(path || "config", at);
    else if (path !== "") found.set(path, JSON.stringify(at));
  };
  visit(config, "");
  return found;
}

/** Writes how the run ended. Not called for an interrupted run: it goes on, and TensorBoard keeps the first status. */
export function writeSessionEnd(out: ProtoWriter, { outcome }: RunEnding, wall: number): void {
  const content = new ProtoWriter();
  const begun = content.begin(session.end);
  content.integer(sessionEnd.status, outcome === "failed" ? sessionEnd.FAILURE : sessionEnd.SUCCESS);
  content.double(sessionEnd.time, wall / 1000);
  content.end(begun);
  writePluginData(out, "_hparams_/session_end_info", "hparams", content.bytes());
}

/** A value that belongs to a plugin and to no metric: an empty tensor, with the content in its metadata. */
function writePluginData(out: ProtoWriter, tag: string, name: string, content: Uint8Array): void {
  const begun = out.begin(summaryValue.field);
  out.text(summaryValue.tag, tag);
  writeMetadata(out, name, "", { tensor: true, content });
  const empty = out.begin(summaryValue.tensor);
  out.integer(tensor.type, tensor.FLOAT);
  const shape = out.begin(tensor.shape);
  const axis = out.begin(dimension.field);
  out.integer(dimension.size, 0);
  out.end(axis);
  out.end(shape);
  out.end(empty);
  out.end(begun);
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
