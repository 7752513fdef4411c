import {
  type Clock,
  checkOptions,
  type Options,
  option,
  printableLines,
  systemClock,
} from "../../../core/index.ts";
import { every } from "../../../schedule/index.ts";
import type { RunProgress } from "../../run-info.ts";
import { clockOption, type Sink, type SinkOptions, sinkOptions } from "../sink.ts";
import { type Chooser, chooser, followWindows, machineCategories } from "./entries.ts";
import {
  barRow,
  type ConsoleRow,
  endingRow,
  firstWidths,
  lineRow,
  openingRow,
  painted,
  rowWidth,
  type Style,
  styleOf,
  tableRows,
} from "./rows.ts";
import { type ConsoleStream, type Output, outputTo } from "./stream.ts";

/*
 * records of a window -> entries.ts: what changed, what came late, which of them matter
 *                     -> rows.ts: a table or a line, in colours
 *                     -> a display below: a terminal with a bar, or plain lines
 *                     -> stream.ts: to a terminal, a file or a pipe whose reader may go away
 */

type Environment = Readonly<Record<string, string | undefined>>;

const ownOptions = {
  /** Default: `process.stdout`. */
  stream: option.object<ConsoleStream>("a writable stream, such as process.stderr", ["write"], {}),
  /** Default: on a terminal, unless `NO_COLOR` is set; everywhere where `FORCE_COLOR` is set. */
  color: option.flag({}),
  /** Arrows and blocks instead of ASCII signs. Default: where a terminal has them. */
  unicode: option.flag({}),
  /** Width of the terminal. Default: its present width. */
  columns: option.integer({ min: 1 }),
  /** Metrics that come first and are always shown: `train/loss`, `validation/*`; `*` stands for any characters. */
  important: option.list<string>('a list such as ["validation/*"]', {}),
  /** Metrics shown of one window, with a count of the others. Default: 12, or all where `metrics` names them. */
  limit: option.made<number>(
    "a whole number from 0 on, or Infinity for all",
    (value) => value === Number.POSITIVE_INFINITY || (Number.isSafeInteger(value) && Number(value) >= 0),
    {},
  ),
  /**
   * Shows the categories `system` and `time`. Default: on a terminal, and where `metrics` or `categories` choose;
   * elsewhere only those that `important` names.
   */
  system: option.flag({}),
  clock: clockOption,
  /** Environment with `NO_COLOR`, `FORCE_COLOR` and `TERM`. Default: `process.env`. */
  env: option.object<Environment>("an object such as process.env", [], {}),
};

/** Options of {@link consoleSink}. */
export interface ConsoleOptions extends SinkOptions, Options<typeof ownOptions> {}

/**
 * Shows a run where it was started. On a terminal: a progress bar, above it a table of the metrics that matter, one per
 * window. Anywhere else: one plain line per window, without control codes: training and validation, evaluation and
 * rollouts, and nothing of the machine by default. A reader that goes away, such as `head`, ends the output and nothing
 * else.
 *
 * @example
 * ```ts
 * consoleSink(); // every 1000 steps
 * consoleSink({ schedule: every({ epochs: 1 }), important: ["validation/*", "train/learningRate"] });
 * ```
 */
export function consoleSink(options: ConsoleOptions = {}): Sink {
  checkOptions("consoleSink", options, { ...sinkOptions, ...ownOptions });
  const { stream = process.stdout, env = process.env, clock = systemClock } = options;
  const { name = "console", schedule = every({ steps: 1000 }), categories, metrics } = options;
  const live = isLive(stream, env);
  const parts: DisplayParts = {
    output: outputTo(stream),
    style: styleOf({
      color: options.color ?? wantsColor(live, env),
      unicode: options.unicode ?? hasUnicode(env, process.platform),
    }),
    choose: chooser({
      important: options.important ?? metrics ?? [],
      limit: options.limit ?? (metrics === undefined ? 12 : Number.POSITIVE_INFINITY),
      leftOut: showsMachine(options, live) ? [] : machineCategories,
    }),
  };
  // Some terminals say 0 where they do not know.
  const columns = (): number => options.columns ?? (stream.columns || 80);
  return {
    name,
    schedule,
    ...(categories && { categories }),
    ...(metrics && { metrics }),
    ...(live ? terminalDisplay(parts, clock, columns) : plainDisplay(parts)),
  };
}

const showsMachine = ({ system, metrics, categories }: ConsoleOptions, live: boolean): boolean =>
  system ?? (live || metrics !== undefined || categories !== undefined);

/** True where the cursor can be moved: not every terminal can do it. */
export const isLive = (stream: { readonly isTTY?: boolean }, env: Environment): boolean =>
  stream.isTTY === true && env.TERM !== "dumb";

/** The default of `color`: `NO_COLOR` forbids it, `FORCE_COLOR` forces it (`0` and `false` forbid it). */
export function wantsColor(live: boolean, env: Environment): boolean {
  if (env.NO_COLOR) return false;
  if (env.FORCE_COLOR) return env.FORCE_COLOR !== "0" && env.FORCE_COLOR !== "false";
  return live;
}

/** True where a terminal can be expected to have arrows and blocks. */
export function hasUnicode(env: Environment, platform: string): boolean {
  if (platform !== "win32") return env.TERM !== "linux";
  return Boolean(env.WT_SESSION || env.TERM_PROGRAM || env.TERM?.startsWith("xterm"));
}

/** The methods of a sink that a display implements. */
type Display = Required<Pick<Sink, "open" | "write" | "progress" | "message" | "close">>;

interface DisplayParts {
  readonly output: Output;
  readonly style: Style;
  readonly choose: Chooser;
}

/** Lines and nothing else, for files, pipes and terminals whose cursor does not move. */
function plainDisplay({ output, style, choose }: DisplayParts): Display {
  const follow = followWindows();
  let latest: RunProgress | undefined;
  let opened = false;
  const print = (...rows: readonly ConsoleRow[]): undefined | Promise<void> =>
    output.write(rows.map((row) => `${painted(row, style)}\n`).join(""));

  return {
    open(run) {
      if (opened) return;
      opened = true;
      return print(openingRow(run));
    },
    write(records) {
      const lines = follow(records).flatMap((window) => {
        const chosen = choose(window.entries);
        return chosen.entries.length === 0 && chosen.more === 0 ? [] : [lineRow(window, chosen, latest)];
      });
      return lines.length === 0 ? undefined : print(...lines);
    },
    progress(progress) {
      latest = progress;
    },
    message(text) {
      print(...printableLines(text).map((line) => [{ text: line }]));
    },
    close(ending) {
      print(endingRow(ending));
      return output.close();
    },
  };
}

/** The bar is drawn at most once in this time, in milliseconds. */
const barInterval = 100;

/**
 * Lines that scroll up, and under them the bar, which is redrawn. Nothing else is ever erased, so that what stood in the
 * terminal before is safe.
 */
function terminalDisplay(
  { output, style, choose }: DisplayParts,
  clock: Clock,
  columns: () => number,
): Display {
  const follow = followWindows();
  let widths = firstWidths();
  let tableColumns = columns();
  let latest: RunProgress | undefined;
  let opened = false;
  let drawnAt = Number.NEGATIVE_INFINITY;
  /** Columns that the bar takes now. */
  let barWidth = 0;

  /** Moves to where the bar begins. A terminal that has become narrower has broken it into several lines. */
  const backToBar = (): string => {
    const up = Math.ceil(barWidth / columns()) - 1;
    return up > 0 ? `\r\x1b[${up}A\x1b[J` : "\r";
  };
  const drawBar = (): string => {
    if (latest === undefined) return "";
    // The last column stays free: a terminal that has filled it may be in the next line already.
    const row = barRow(latest, columns() - 1, style);
    drawnAt = clock.now();
    barWidth = rowWidth(row);
    return painted(row, style);
  };
  const printAbove = (rows: readonly ConsoleRow[]): undefined | Promise<void> => {
    const start = barWidth > 0 ? `${backToBar()}\x1b[J` : "";
    barWidth = 0;
    return output.write(start + rows.map((row) => `${painted(row, style)}\n`).join("") + drawBar());
  };

  return {
    open(run) {
      if (opened) return;
      opened = true;
      return printAbove([openingRow(run)]);
    },
    write(records) {
      if (records.length === 0) return;
      if (columns() !== tableColumns) widths = firstWidths();
      tableColumns = columns();
      const rows = follow(records).flatMap((window) =>
        tableRows(window, choose(window.entries), tableColumns - 1, style, widths),
      );
      return printAbove(rows);
    },
    progress(progress) {
      latest = progress;
      if (clock.now() - drawnAt < barInterval || output.blocked) return;
      const start = barWidth > 0 ? backToBar() : "";
      output.write(`${start}${drawBar()}\x1b[K`);
    },
    message(text) {
      printAbove(printableLines(text).map((line) => [{ text: line }]));
    },
    close(ending) {
      latest = undefined;
      printAbove([endingRow(ending)]);
      return output.close();
    },
  };
}
