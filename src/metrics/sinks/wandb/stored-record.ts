import { readFields } from "../../../core/index.ts";
import { item, kind } from "./records.ts";

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
