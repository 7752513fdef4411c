import type { Histogram, MetricRecord } from "../../record.ts";
import { MessageBytes } from "../wire/index.ts";

/** Of an event, what it holds of values. */
export const SUMMARY = 5;

const value = { of: 1, tag: 1, number: 2, histogram: 5, tensor: 8, metadata: 9 } as const;
const metadata = { plugin: 1, description: 3, dataClass: 4, TENSOR: 2 } as const;
const plugin = { name: 1, content: 2 } as const;
const histogram = { min: 1, max: 2, count: 3, sum: 4, sumSquares: 5, limits: 6, counts: 7 } as const;
const tensor = { type: 1, shape: 2, texts: 8, FLOAT: 1, STRING: 7 } as const;
const dimensions = { of: 2, size: 1 } as const;

/** All of a number's value but the four bytes of the number itself. */
export function numberPrefix(key: string): Uint8Array {
  const out = new MessageBytes(64);
  const begun = out.begin(value.of);
  out.text(value.tag, key);
  out.float(value.number, 0);
  out.end(begun);
  return Uint8Array.from(out.bytes().subarray(0, -4));
}

/** A record's value, whatever it is. `first` says that TensorBoard has not heard of the metric before. */
export function writeValue(out: MessageBytes, record: MetricRecord, first: boolean): void {
  const begun = out.begin(value.of);
  out.text(value.tag, record.key);
  if (typeof record.value === "number") {
    if (first) writeMetadata(out, "scalars", descriptionOf(record));
    out.float(value.number, record.value);
  } else if (typeof record.value === "string") {
    writeMetadata(out, "text", first ? descriptionOf(record) : "", { tensor: true });
    writeText(out, record.value);
  } else {
    if (first) writeMetadata(out, "histograms", descriptionOf(record));
    writeHistogram(out, record.value);
  }
  out.end(begun);
}

/** Something for a plugin that is no value of a metric. */
export function writePluginData(out: MessageBytes, tag: string, name: string, content: Uint8Array): void {
  const begun = out.begin(value.of);
  out.text(value.tag, tag);
  writeMetadata(out, name, "", { tensor: true, content });
  const none = out.begin(value.tensor);
  out.integer(tensor.type, tensor.FLOAT);
  const shape = out.begin(tensor.shape);
  const axis = out.begin(dimensions.of);
  out.integer(dimensions.size, 0);
  out.end(axis);
  out.end(shape);
  out.end(none);
  out.end(begun);
}

/** What cannot be seen from the tag: how the metric is called, and what it is measured in. */
export function descriptionOf({ key, category, name, unit }: MetricRecord): string {
  const called = key === `${category}/${name}` ? [] : [`logged as ${JSON.stringify(`${category}/${name}`)}`];
  return [...called, ...(unit === undefined ? [] : [`in ${unit}`])].join(", ");
}

function writeMetadata(
  out: MessageBytes,
  name: string,
  description: string,
  more: { readonly tensor?: boolean; readonly content?: Uint8Array } = {},
): void {
  if (!more.tensor && description === "") return;
  const begun = out.begin(value.metadata);
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

function writeText(out: MessageBytes, text: string): void {
  const begun = out.begin(value.tensor);
  out.integer(tensor.type, tensor.STRING);
  out.end(out.begin(tensor.shape));
  out.text(tensor.texts, text);
  out.end(begun);
}

/** TensorBoard's buckets end at their limits and begin at the one before, the first at the least number. */
function writeHistogram(
  out: MessageBytes,
  { edges, counts, min, max, sum, sumSquares, count }: Histogram,
): void {
  const begun = out.begin(value.histogram);
  out.double(histogram.min, min);
  out.double(histogram.max, max);
  out.double(histogram.count, count);
  out.double(histogram.sum, sum);
  out.double(histogram.sumSquares, sumSquares);
  out.doubles(histogram.limits, edges.slice(1));
  out.doubles(histogram.counts, counts);
  out.end(begun);
}
