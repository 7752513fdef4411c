import own from "../../../../package.json" with { type: "json" };
import type { Json } from "../../../checkpoint/index.ts";
import { node, type ProtoWriter, readFields } from "../../../core/index.ts";
import type { MetricRecord } from "../../record.ts";
import type { RunEnding, RunInfo } from "../../run-info.ts";
import { type MessageValues, writeFields } from "../messages.ts";
import { numeral } from "../sink.ts";
import type { LogFile } from "./log-file.ts";

/** Kinds of records: the field of a Record's content. */
export const kind = {
  history: 2,
  summary: 3,
  config: 5,
  artifact: 8,
  metric: 12,
  run: 17,
  exit: 18,
  header: 21,
  environment: 26,
} as const;

/** A name and a value. Names in parts are not cut at their dots. */
export const item = { key: [1, "text"], nestedKey: [2, "text"], json: [16, "text"] } as const;
/** Items of a config, of a history and of a summary. */
export const items = { items: [1, item] } as const;
const timestamp = { seconds: [1, "integer"], nanos: [2, "integer"] } as const;
export const runMessage = {
  id: [1, "text"],
  entity: [2, "text"],
  project: [3, "text"],
  config: [4, items],
  name: [8, "text"],
  host: [13, "text"],
  startedAt: [17, timestamp],
  resume: [24, "boolean"],
} as const;
const metricOptions = { stepSync: [1, "boolean"], hidden: [2, "boolean"], defined: [3, "boolean"] } as const;
export const metricMessage = {
  name: [1, "text"],
  stepMetric: [4, "text"],
  options: [6, metricOptions],
} as const;
const header = { versions: [1, { producer: [1, "text"], minConsumer: [2, "text"] }] } as const;
const environment = { os: [1, "text"], startedAt: [3, timestamp], host: [12, "text"] } as const;
const exit = { code: [1, "integer"], runtime: [2, "integer"] } as const;

export interface WandbProject {
  readonly project: string;
  readonly entity: string | undefined;
}

export function addHeader(log: LogFile): void {
  const versions = { producer: `espalier-${own.version}`, minConsumer: "0.70.0" };
  log.add(kind.header, (out) => writeFields(out, header, { versions }));
}

/** `appended` says that W&B has a part of the run already, after which this one goes. */
export function addRun(
  log: LogFile,
  { id, name, config, startedAt: began }: RunInfo,
  { project, entity }: WandbProject,
  appended: boolean,
): void {
  const { os } = node;
  const [startedAt, host] = [timeIn(began), os.hostname()];
  const resume = appended || undefined;
  const run = { id, entity, project, config: configItems(config), name, host, startedAt, resume };
  log.add(kind.run, (out) => writeFields(out, runMessage, run));
  const machine = { os: `${os.type()} ${os.release()}`, startedAt, host };
  log.add(kind.environment, (out) => writeFields(out, environment, machine));
}

/** The settings once more, where a run goes on: some may have changed. */
export function addConfig(log: LogFile, config: Json): void {
  log.add(kind.config, (out) => writeFields(out, items, configItems(config)));
}

/** Says what axis a metric is counted on; the axis itself is a metric, which has no charts. */
export function addMetric(log: LogFile, name: string, axis: string | undefined): void {
  const options = axis === undefined ? { hidden: true, defined: true } : { stepSync: true, defined: true };
  log.add(kind.metric, (out) => writeFields(out, metricMessage, { name, stepMetric: axis, options }));
}

/** As W&B's own client: an interrupt is 255. */
const exitCodes: Readonly<Record<RunEnding["outcome"], number>> = {
  completed: 0,
  stopped: 0,
  interrupted: 255,
  failed: 1,
};

/** How it ended, and how long it ran, which W&B also looks for in the summary. */
export function addExit(log: LogFile, { outcome, counters }: RunEnding): void {
  const runtime = Math.max(0, Math.round(counters.seconds));
  log.add(kind.summary, (out) => writeItem(out, ["_wandb", "runtime"], jsonOf(runtime)));
  log.add(kind.exit, (out) => writeFields(out, exit, { code: exitCodes[outcome], runtime }));
}

/** The newest value of everything, once more. */
export function addSummary(log: LogFile, values: Iterable<readonly [key: string, json: string]>): void {
  log.add(kind.summary, (out) => {
    for (const [key, json] of values) writeItem(out, [key], json);
  });
}

/** An item of a history or of a summary. */
export const writeItem = (out: ProtoWriter, keys: readonly string[], json: string): void =>
  writeFields(out, items, { items: { nestedKey: keys, json } });

/** As W&B writes values: JSON, with names for what JSON has no number for. */
export function jsonOf(value: MetricRecord["value"]): string {
  if (typeof value === "number") return numeral(value);
  if (typeof value === "string") return JSON.stringify(value);
  return `{"_type":"histogram","values":${JSON.stringify(value.counts)},"bins":${JSON.stringify(value.edges)}}`;
}

function configItems(config: Json): MessageValues<typeof items> {
  const isObject = typeof config === "object" && config !== null && !Array.isArray(config);
  const settings = isObject ? Object.entries(config) : [["config", config] as const];
  return { items: settings.map(([key, value]) => ({ key, json: JSON.stringify(value) ?? "null" })) };
}

function timeIn(milliseconds: number): MessageValues<typeof timestamp> {
  const seconds = Math.floor(milliseconds / 1000);
  return { seconds, nanos: Math.floor((milliseconds - seconds * 1000) * 1e6) };
}

const kinds: ReadonlySet<number> = new Set(Object.values(kind));
const NUMBER = 1;

/** A record as it stands in a log. */
export interface StoredRecord {
  readonly number: number;
  /** The field of its content; 0 where it is of a kind that we do not write. */
  readonly kind: number;
  readonly content: Buffer;
}

export function storedRecord(record: Buffer): StoredRecord {
  let number = 0;
  let found: Pick<StoredRecord, "kind" | "content"> = { kind: 0, content: Buffer.alloc(0) };
  for (const part of readFields(record)) {
    if (part.field === NUMBER && part.number !== undefined) number = part.number;
    else if (kinds.has(part.field) && part.bytes) found = { kind: part.field, content: part.bytes };
  }
  return { number, ...found };
}

/** What a message has of one field. */
const partsOf = (message: Buffer, field: number) =>
  [...readFields(message)].filter((part) => part.field === field);

/** The text of a field; empty where there is none. */
export const textOf = (message: Buffer, field: number): string =>
  partsOf(message, field)[0]?.bytes?.toString() ?? "";

/** The time of a field, in milliseconds since 1970. */
export function timeOf(message: Buffer, field: number): number | undefined {
  const time = partsOf(message, field)[0]?.bytes;
  if (!time) return undefined;
  const [seconds = 0, nanos = 0] = [1, 2].map((part) => partsOf(time, part)[0]?.number);
  return seconds * 1000 + nanos / 1e6;
}

/** Names and JSON values of a history, as they stand. */
export const itemsOf = (history: Buffer): readonly (readonly [key: string, json: string])[] =>
  partsOf(history, items.items[0]).map(({ bytes = Buffer.alloc(0) }) => [
    textOf(bytes, item.nestedKey[0]),
    textOf(bytes, item.json[0]),
  ]);
