import type { RunInfo } from "../run-info.ts";
import { jsonlWriter } from "./jsonl-line.ts";
import { type FileSinkChoice, type LineFile, lineFile } from "./line-file.ts";
import { comesAgain, filedUpTo } from "./resume.ts";
import type { Sink } from "./sink.ts";

/**
 * A file with one line of JSON for each metric and window:
 *
 * ```json
 * {"key":"train/loss","category":"train","name":"loss","unit":"nats","axis":"steps","reduction":"mean","step":100,
 *  "value":0.25,"count":100,"notFinite":0,"wall":1700000000000,"counters":{"epoch":0,"steps":100}}
 * ```
 *
 * (in one line). Numbers that JSON does not have are the strings `"NaN"`, `"Infinity"` and `"-Infinity"`. A text
 * stands under `text` and a histogram under `histogram`, instead of `value`. `unit` is missing where there is none.
 * Each line is in the file when training goes on. When a run is resumed, the lines after that point are removed: they
 * come again. A new run begins a new file: that of the run before is kept as `metrics.1.jsonl`, the next as
 * `metrics.2.jsonl`.
 *
 * @example
 * ```ts
 * const logger = new Logger({ sinks: [jsonlSink("run/metrics.jsonl")] });
 * ```
 */
export function jsonlSink(path: string, choice: FileSinkChoice = {}): Sink {
  const { files: _, ...rest } = choice;
  const file = lineFile("jsonlSink", path, choice);
  const lineOf = jsonlWriter();
  return {
    ...rest,
    name: rest.name ?? "jsonl",
    path: file.path,
    open(run) {
      file.open();
      rewind(file, run);
    },
    write(records) {
      if (records.length > 0) file.append(records.map(lineOf).join(""));
    },
    close() {
      file.close();
    },
  };
}

/** Removes what comes again, and what a crash left of a line. What another run has written is set aside. */
function rewind(file: LineFile, run: RunInfo): void {
  const filed = filedUpTo(run);
  let end = 0;
  let goes = false;
  for (const { text, next } of file.lines()) {
    end = next;
    const place = placeOf(text);
    if (filed === undefined && place !== nowhere) {
      file.setAside();
      return;
    }
    goes ||= comesAgain(place, filed);
  }
  if (goes) file.replace(kept(file, filed));
  else file.cut(end);
}

function* kept(file: LineFile, filed: RunInfo["filedUpTo"]): Generator<string, void, undefined> {
  for (const { text } of file.lines()) if (!comesAgain(placeOf(text), filed)) yield `${text}\n`;
}

const nowhere = { step: Number.NEGATIVE_INFINITY, axis: "" };

/** Where the value of a line belongs. Of a line that somebody else wrote: nowhere, so that it stays. */
function placeOf(line: string): { readonly step: number; readonly axis: string } {
  try {
    const parsed: unknown = JSON.parse(line);
    if (typeof parsed !== "object" || parsed === null || !("step" in parsed && "axis" in parsed))
      return nowhere;
    const { step, axis } = parsed;
    return typeof step === "number" && typeof axis === "string" ? { step, axis } : nowhere;
  } catch {
    return nowhere;
  }
}
