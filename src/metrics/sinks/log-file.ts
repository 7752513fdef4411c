import { dirname, resolve } from "node:path";
import {
  badOption,
  type Clock,
  checkNames,
  EspalierError,
  printableLines,
  shown,
  systemClock,
} from "../../core/index.ts";
import type { MetricRecord } from "../record.ts";
import type { RunProgress } from "../run-info.ts";
import { chooser } from "./console/choice.ts";
import { followWindows } from "./console/entry.ts";
import { plainLine } from "./console/plain-line.ts";
import { endingRow, openingRow } from "./console/sentences.ts";
import type { Row } from "./console/style.ts";
import { type SinkFiles, systemFiles } from "./files.ts";
import type { Sink, SinkOptions } from "./sink.ts";

/** Options of {@link logFileSink}. */
export interface LogFileOptions extends SinkOptions {
  readonly clock?: Clock;
  readonly files?: LogFiles;
}

type LogFiles = Pick<SinkFiles, "openSync" | "closeSync" | "writeSync" | "mkdirSync">;

const mostHeld = 100;

/**
 * A file for people to read: a line for each window with all of its metrics, and one for each message, each with its
 * time. The file is appended to, its directory made. Every line is with the operating system before training goes on.
 *
 * @example
 * ```ts
 * logFileSink("runs/mnist/run.log", { schedule: every({ epochs: 1 }) });
 * // 2026-01-31T12:00:00.000Z  step 1000  train/loss 0.1234  train/accuracy 0.98  12.3k steps/s
 * ```
 */
export function logFileSink(path: string, options: LogFileOptions = {}): Sink {
  checkNames("logFileSink", options, ["name", "schedule", "categories", "metrics", "clock", "files"]);
  if (typeof path !== "string" || path === "")
    throw badOption("logFileSink", `the path is ${shown(path)}`, 'name a file, like "runs/mnist/run.log"');
  const { clock = systemClock, files = systemFiles, ...choice } = options;
  const whole = resolve(path);
  const append = appender(whole, files);
  const follow = followWindows();
  const choose = chooser({ important: choice.metrics ?? [], limit: Number.POSITIVE_INFINITY });
  let latest: RunProgress | undefined;
  let opened = false;
  let ending: string | undefined;
  /** What was said and is not in the file yet. */
  const said: string[] = [];
  /** What could not be written: it comes again, and must then be the same text. */
  let failed: { readonly records: readonly MetricRecord[]; readonly text: string } | undefined;

  const appendSaid = (): void => {
    for (let line = said[0]; line !== undefined; line = said[0]) {
      append(line);
      said.shift();
    }
  };

  return {
    ...choice,
    name: choice.name ?? "log-file",
    path: whole,
    open(run) {
      if (opened) return;
      append(stamped(run.startedAt, openingRow(run)));
      opened = true;
    },
    write(records) {
      const text = isSame(records, failed?.records)
        ? (failed?.text ?? "")
        : follow(records)
            .map((window) => ({ window, wall: window.entries[0]?.record.wall ?? clock.wall() }))
            .map(({ window, wall }) => stamped(wall, plainLine(window, choose(window.entries), latest)))
            .join("");
      failed = { records, text };
      appendSaid();
      append(text);
      failed = undefined;
    },
    progress(progress) {
      latest = progress;
    },
    message(text) {
      const wall = clock.wall();
      said.push(
        ...printableLines(text, Number.POSITIVE_INFINITY).map((line) => stamped(wall, [{ text: line }])),
      );
      said.splice(0, said.length - mostHeld);
      try {
        appendSaid();
      } catch {
        // It is held, and goes before the next window or the end; if that fails too, it is said there.
      }
    },
    close(how) {
      ending ??= stamped(clock.wall(), endingRow(how));
      appendSaid();
      append(ending);
    },
  };
}

const stamped = (wall: number, row: Row): string =>
  `${new Date(wall).toISOString()}  ${row.map(({ text }) => text).join("")}\n`;

const isSame = (records: readonly MetricRecord[], others: readonly MetricRecord[] | undefined): boolean =>
  records.length === others?.length && records.every((record, i) => record === others[i]);

/**
 * Appends whole texts to a file. Where the disk takes only a part of one and the same text comes again, the rest is
 * appended; another text begins a line of its own. The file is opened each time, so that it may be moved away.
 */
function appender(path: string, files: LogFiles): (text: string) => void {
  let half: { readonly text: string; readonly bytes: Buffer; readonly at: number } | undefined;
  const open = (): number => {
    try {
      return files.openSync(path, "a");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
      files.mkdirSync(dirname(path), { recursive: true });
      return files.openSync(path, "a");
    }
  };
  return (text) => {
    const goesOn = half?.text === text;
    const bytes = goesOn && half ? half.bytes : Buffer.from(half ? `\n${text}` : text);
    let at = goesOn && half ? half.at : 0;
    try {
      const file = open();
      try {
        while (at < bytes.length) at += files.writeSync(file, bytes, at, bytes.length - at);
        half = undefined;
      } finally {
        if (at > 0 && at < bytes.length) half = { text, bytes, at };
        files.closeSync(file);
      }
    } catch (error) {
      throw unwritable(path, error);
    }
  };
}

function unwritable(path: string, cause: unknown): EspalierError {
  const { code = "", message } = cause as NodeJS.ErrnoException;
  const fix = ["ENOSPC", "EDQUOT", "EFBIG"].includes(code)
    ? "free some room on the disk: what is missing is written then"
    : ["ENOTDIR", "EEXIST", "EISDIR"].includes(code)
      ? "give the path of a file in a directory; something else is in its place"
      : `make ${dirname(path)} writable for this user, or give logFileSink another path`;
  return new EspalierError("SINK_UNWRITABLE", `the log file ${path} cannot be written: ${message}`, {
    fix,
    cause,
  });
}
