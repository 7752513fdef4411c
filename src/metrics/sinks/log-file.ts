import {
  checkOptions,
  EspalierError,
  node,
  type Options,
  option,
  printableLines,
  systemClock,
} from "../../core/index.ts";
import type { MetricRecord } from "../record.ts";
import type { RunProgress } from "../run-info.ts";
import { chooser, followWindows } from "./console/entries.ts";
import { type ConsoleRow, endingRow, lineRow, openingRow } from "./console/rows.ts";
import { checkedPath, type SinkFiles, systemFiles } from "./files.ts";
import { clockOption, type Sink, sinkOptions } from "./sink.ts";

type LogFiles = Pick<SinkFiles, "openSync" | "closeSync" | "writeSync" | "mkdirSync">;

const logFileOptions = {
  ...sinkOptions,
  clock: clockOption,
  files: option.object<LogFiles>("functions as those of node:fs", ["openSync"], {}),
};

/** Options of {@link logFileSink}. */
export interface LogFileOptions extends Options<typeof logFileOptions> {}

/** Messages that wait for the disk. */
const mostMessages = 100;

/**
 * A file for people to read: a line for each window with all of its metrics, and one for each message, each with its
 * time. The file is appended to, and its directory created. Every line is written before training goes on.
 *
 * @example
 * ```ts
 * logFileSink("runs/mnist/run.log", { schedule: every({ epochs: 1 }) });
 * // 2026-01-31T12:00:00.000Z  step 1000  train/loss 0.1234  train/accuracy 0.98  12.3k steps/s
 * ```
 */
export function logFileSink(path: string, options: LogFileOptions = {}): Sink {
  checkOptions("logFileSink", options, logFileOptions);
  const { clock = systemClock, files = systemFiles(), ...general } = options;
  const whole = checkedPath("logFileSink", path);
  const append = appender(whole, files);
  const follow = followWindows();
  const choose = chooser({ important: general.metrics ?? [], limit: Number.POSITIVE_INFINITY });
  let latest: RunProgress | undefined;
  let opened = false;
  let ending: string | undefined;
  /** Messages that are not in the file yet. */
  const messages: string[] = [];
  /** A call that failed: its records come again, and must then give the same text. */
  let failed: { readonly records: readonly MetricRecord[]; readonly text: string } | undefined;

  const appendMessages = (): void => {
    for (let line = messages[0]; line !== undefined; line = messages[0]) {
      append(line);
      messages.shift();
    }
  };

  return {
    ...general,
    name: general.name ?? "log-file",
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
            .map(({ window, wall }) => stamped(wall, lineRow(window, choose(window.entries), latest)))
            .join("");
      failed = { records, text };
      appendMessages();
      append(text);
      failed = undefined;
    },
    progress(progress) {
      latest = progress;
    },
    message(text) {
      const wall = clock.wall();
      messages.push(
        ...printableLines(text, Number.POSITIVE_INFINITY).map((line) => stamped(wall, [{ text: line }])),
      );
      messages.splice(0, messages.length - mostMessages);
      try {
        appendMessages();
      } catch {
        // It waits, and is written before the next window or the end, which throws if that fails too.
      }
    },
    close(how) {
      ending ??= stamped(clock.wall(), endingRow(how));
      appendMessages();
      append(ending);
    },
  };
}

const stamped = (wall: number, row: ConsoleRow): string =>
  `${new Date(wall).toISOString()}  ${row.map(({ text }) => text).join("")}\n`;

const isSame = (records: readonly MetricRecord[], others: readonly MetricRecord[] | undefined): boolean =>
  records.length === others?.length && records.every((record, i) => record === others[i]);

/**
 * Appends texts to a file. Where the disk takes only a part of a text and the same one comes again, the rest is appended;
 * another text begins a new line. The file is opened each time, so that it may be moved away.
 */
function appender(path: string, files: LogFiles): (text: string) => void {
  let half: { readonly text: string; readonly bytes: Buffer; readonly at: number } | undefined;
  const open = (): number => {
    try {
      return files.openSync(path, "a");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
      files.mkdirSync(node.path.dirname(path), { recursive: true });
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
      : `make ${node.path.dirname(path)} writable for this user, or give logFileSink another path`;
  return new EspalierError("SINK_UNWRITABLE", `the log file ${path} cannot be written: ${message}`, {
    fix,
    cause,
  });
}
