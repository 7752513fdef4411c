import fs, { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { manualClock } from "../../core/index.ts";
import { csvSink, jsonlSink, logFileSink, type Sink, tensorBoardSink, wandbSink } from "../index.ts";
import type { SinkFiles } from "../sinks/files.ts";
import { schedule } from "./run.test-support.ts";

const clock = manualClock(1_700_000_000_000);

/** Every sink that writes files, each to a folder of its own. */
export const fileSinks: Readonly<Record<string, (folder: string, files: SinkFiles) => Sink>> = {
  jsonl: (folder, files) => jsonlSink(join(folder, "jsonl", "metrics.jsonl"), { schedule, files }),
  csv: (folder, files) => csvSink(join(folder, "csv", "metrics.csv"), { schedule, files }),
  "log-file": (folder, files) => logFileSink(join(folder, "log-file", "run.log"), { schedule, files, clock }),
  tensorboard: (folder, files) => tensorBoardSink(join(folder, "tensorboard"), { schedule, files, clock }),
  wandb: (folder, files) =>
    wandbSink({ directory: join(folder, "wandb"), project: "faults", schedule, files }),
};
export const kinds: readonly string[] = Object.keys(fileSinks);

/** All of them, the one of that kind with other files. */
export const sinksIn = (folder: string, files: (kind: string) => SinkFiles = () => fs): Sink[] =>
  Object.entries(fileSinks).map(([kind, make]) => make(folder, files(kind)));

/** What a sink has written, file after file; what the run says of failing sinks left out. */
export function written(folder: string, kind: string): Buffer {
  const names = readdirSync(join(folder, kind), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
  const bytes = Buffer.concat(names.map((name) => readFileSync(name)));
  if (kind !== "log-file") return bytes;
  const lines = bytes.toString().split("\n");
  return Buffer.from(lines.filter((line) => !line.includes('the sink "')).join("\n"));
}
