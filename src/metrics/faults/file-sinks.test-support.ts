import fs, { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { manualClock } from "../../core/index.ts";
import { csvSink, jsonlSink, logFileSink, type Sink, tensorBoardSink, wandbSink } from "../index.ts";
import type { SinkFiles } from "../sinks/files.ts";
import { findOriginal as findTensorBoard } from "../sinks/tensorboard/original.test-support.ts";
import { findOriginal as findWandb } from "../sinks/wandb/original.test-support.ts";
import { linesOf, schedule } from "./run.test-support.ts";

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

const tensorBoard = findTensorBoard();
const wandb = findWandb();
export function closeReaders(): void {
  for (const reader of [tensorBoard, wandb]) if (!("missing" in reader)) reader.close();
}

/** Kinds whose files can be read here, and why others cannot. */
export const readable: readonly string[] = kinds.filter(
  (kind) =>
    !(kind === "tensorboard" && "missing" in tensorBoard) && !(kind === "wandb" && "missing" in wandb),
);
export const unreadable: readonly string[] = kinds.filter((kind) => !readable.includes(kind));

/** What a sink has filed, as its own readers find it: one text a value, in an order that does not depend on its calls. */
export async function heldIn(folder: string, kind: string): Promise<readonly string[]> {
  const found = await readers[kind]?.(join(folder, kind));
  return (found ?? []).map((parts) => parts.join(" ")).sort();
}

type HeldRecords = readonly (readonly (string | number)[])[];
const readers: Readonly<Record<string, (place: string) => HeldRecords | Promise<HeldRecords>>> = {
  jsonl: (place) =>
    linesOf(join(place, "metrics.jsonl")).map(({ key, step, value }) => [key, step, String(value)]),
  csv: (place) => {
    const [head = [], ...rows] = readFileSync(join(place, "metrics.csv"), "utf8")
      .trimEnd()
      .split("\n")
      .map((line) => line.split(","));
    return rows.flatMap((row) =>
      head.flatMap((key, i) => (key.includes("/") && row[i] ? [[key, row[0] ?? "", row[i] ?? ""]] : [])),
    );
  },
  // Values alone: lines have the step of their window, and windows that waited come together.
  "log-file": (place) =>
    [...readFileSync(join(place, "run.log"), "utf8").matchAll(/ {2}(\w+\/\w+ [-\d.e]+)/g)].map(
      ([, pair = ""]) => [pair],
    ),
  async tensorboard(place) {
    if ("missing" in tensorBoard) throw new Error(tensorBoard.missing);
    const runs = Object.values((await tensorBoard.read(place)).accumulator);
    return runs.flatMap(({ scalars }) =>
      Object.entries(scalars).flatMap(([key, events]) => events.map(([step, , value]) => [key, step, value])),
    );
  },
  async wandb(place) {
    if ("missing" in wandb) throw new Error(wandb.missing);
    const logs = readdirSync(place, { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".wandb") && !name.includes("latest-run"))
      .map((name) => join(place, name));
    const records = (await Promise.all(logs.map((log) => wandb.read(log)))).flat();
    return records.flatMap(({ history }) =>
      Object.entries(history?.item ?? {})
        .filter(([key]) => key.includes("/"))
        .map(([key, value]) => [key, Number(history?.item.steps), Number(value)]),
    );
  },
};
