import own from "../../../../package.json" with { type: "json" };
import type { Json } from "../../../checkpoint/index.ts";
import { node, type ProtoWriter, readFields } from "../../../core/index.ts";
import type { MetricRecord } from "../../record.ts";
import type { RunEnding, RunInfo } from "../../run-info.ts";
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

/** Fields of what holds a name and a value. Names in parts are not cut at their dots. */
export const item = { of: 1, key: 1, nestedKey: 2, json: 16 } as const;
export const runField = {
  id: 1,
  entity: 2,
  project: 3,
  config: 4,
  name: 8,
  host: 13,
  startedAt: 17,
  resume: 24,
} as const;
export const metricField = { name: 1, stepMetric: 4, options: 6 } as const;
const metricOption = { stepSync: 1, hidden: 2, defined: 3 } as const;
const versions = { of: 1, producer: 1, minConsumer: 2 } as const;
const timestamp = { seconds: 1, nanos: 2 } as const;
const environment = { os: 1, startedAt: 3, host: 12 } as const;
const exit = { code: 1, runtime: 2 } as const;

export interface WandbProject {
  readonly project: string;
  readonly entity: string | undefined;
}

export function addHeader(log: LogFile): void {
  log.add(kind.header, (out) => {
    const info = out.begin(versions.of);
    out.text(versions.producer, `espalier-${own.version}`);
    out.text(versions.minConsumer, "0.70.0");
    out.end(info);
  });
}

/** `appended` says that W&B has a part of the run already, after which this one goes. */
export function addRun(
  log: LogFile,
  run: RunInfo,
  { project, entity }: WandbProject,
  appended: boolean,
): void {
  log.add(kind.run, (out) => {
    out.text(runField.id, run.id);
    if (entity !== undefined) out.text(runField.entity, entity);
    out.text(runField.project, project);
    const config = out.begin(runField.config);
    writeConfig(out, run.config);
    out.end(config);
    out.text(runField.name, run.name);
    out.text(runField.host, node.os.hostname());
    writeTime(out, runField.startedAt, run.startedAt);
    if (appended) out.boolean(runField.resume, true);
  });
  const os = node.os;
  log.add(kind.environment, (out) => {
    out.text(environment.os, `${os.type()} ${os.release()}`);
    writeTime(out, environment.startedAt, run.startedAt);
    out.text(environment.host, node.os.hostname());
  });
}

/** The settings once more, where a run goes on: some may have changed. */
export function addConfig(log: LogFile, config: Json): void {
  log.add(kind.config, (out) => writeConfig(out, config));
}

/** Says what axis a metric is counted on; the axis itself is a metric, which has no charts. */
export function addMetric(log: LogFile, name: string, axis: string | undefined): void {
  log.add(kind.metric, (out) => {
    out.text(metricField.name, name);
    if (axis !== undefined) out.text(metricField.stepMetric, axis);
    const options = out.begin(metricField.options);
    out.boolean(axis === undefined ? metricOption.hidden : metricOption.stepSync, true);
    out.boolean(metricOption.defined, true);
    out.end(options);
  });
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
  const seconds = Math.max(0, Math.round(counters.seconds));
  log.add(kind.summary, (out) => writeItem(out, ["_wandb", "runtime"], jsonOf(seconds)));
  log.add(kind.exit, (out) => {
    out.integer(exit.code, exitCodes[outcome]);
    out.integer(exit.runtime, seconds);
  });
}

/** The newest value of everything, once more. */
export function addSummary(log: LogFile, values: Iterable<readonly [key: string, json: string]>): void {
  log.add(kind.summary, (out) => {
    for (const [key, json] of values) writeItem(out, [key], json);
  });
}

/** An item of a history or of a summary. */
export function writeItem(out: ProtoWriter, keys: readonly string[], json: string): void {
  const begun = out.begin(item.of);
  for (const key of keys) out.text(item.nestedKey, key);
  out.text(item.json, json);
  out.end(begun);
}

/** As W&B writes values: JSON, with names for what JSON has no number for. */
export function jsonOf(value: MetricRecord["value"]): string {
  if (typeof value === "number") return Object.is(value, -0) ? "-0" : String(value);
  if (typeof value === "string") return JSON.stringify(value);
  return `{"_type":"histogram","values":${JSON.stringify(value.counts)},"bins":${JSON.stringify(value.edges)}}`;
}

function writeConfig(out: ProtoWriter, config: Json): void {
  const isObject = typeof config === "object" && config !== null && !Array.isArray(config);
  const settings = isObject ? Object.entries(config) : [["config", config] as const];
  for (const [name, value] of settings) {
    const begun = out.begin(item.of);
    out.text(item.key, name);
    out.text(item.json, JSON.stringify(value) ?? "null");
    out.end(begun);
  }
}

function writeTime(out: ProtoWriter, field: number, milliseconds: number): void {
  const seconds = Math.floor(milliseconds / 1000);
  const begun = out.begin(field);
  out.integer(timestamp.seconds, seconds);
  out.integer(timestamp.nanos, Math.floor((milliseconds - seconds * 1000) * 1e6));
  out.end(begun);
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

/** The text of a field; empty where there is none. */
export function textOf(message: Buffer, field: number): string {
  for (const part of readFields(message))
    if (part.field === field && part.bytes) return part.bytes.toString();
  return "";
}

/** The time of a field, in milliseconds since 1970. */
export function timeOf(message: Buffer, field: number): number | undefined {
  for (const part of readFields(message)) {
    if (part.field !== field || !part.bytes) continue;
    const [seconds = 0, nanos = 0] = [1, 2].map(
      (name) => [...readFields(part.bytes)].find((inner) => inner.field === name)?.number,
    );
    return seconds * 1000 + nanos / 1e6;
  }
  return undefined;
}

/** Names and JSON values of a history, as they stand. */
export function itemsOf(history: Buffer): readonly (readonly [key: string, json: string])[] {
  const items: [string, string][] = [];
  for (const part of readFields(history))
    if (part.field === item.of && part.bytes)
      items.push([textOf(part.bytes, item.nestedKey), textOf(part.bytes, item.json)]);
  return items;
}
