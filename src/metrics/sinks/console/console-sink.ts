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
import {
  type Chooser,
  type Chosen,
  chooser,
  followWindows,
  machineCategories,
  type ShownWindow,
} from "./entries.ts";
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
    ...showOn(live ? terminalDisplay(parts, clock, columns) : plainDisplay(parts), parts),
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

interface DisplayParts {
  readonly output: Output;
  readonly style: Style;
  readonly choose: Chooser;
}

/** The bar is drawn at most once in this time, in milliseconds. */
const barInterval = 100;

/** How windows are shown, and what is done as the run goes on. */
interface Display {
  print(rows: readonly ConsoleRow[]): undefined | Promise<void>;
  rowsOf(window: ShownWindow, chosen: Chosen): readonly ConsoleRow[];
  /** The newest; undefined once the run has ended. */
  progress(progress: RunProgress | undefined): void;
}

type ShowingSink = Required<Pick<Sink, "open" | "write" | "progress" | "message" | "close">>;

/** Shows a run on a display. */
function showOn(display: Display, { output, choose }: DisplayParts): ShowingSink {
  const follow = followWindows();
  let opened = false;
  return {
    open(run) {
      if (opened) return;
      opened = true;
      return display.print([openingRow(run)]);
    },
    write(records) {
      const rows = follow(records).flatMap((window) => display.rowsOf(window, choose(window.entries)));
      return rows.length === 0 ? undefined : display.print(rows);
    },
    progress: display.progress,
    message(text) {
      display.print(printableLines(text).map((line) => [{ text: line }]));
    },
    close(ending) {
      display.progress(undefined);
      display.print([endingRow(ending)]);
      return output.close();
    },
  };
}

/** Lines and nothing else, for files, pipes and terminals whose cursor does not move. */
function plainDisplay({ output, style }: DisplayParts): Display {
  let latest: RunProgress | undefined;
  return {
    print: (rows) => output.write(rows.map((row) => `${painted(row, style)}\n`).join("")),
    rowsOf: (window, chosen) =>
      chosen.entries.length === 0 && chosen.more === 0 ? [] : [lineRow(window, chosen, latest)],
    progress(progress) {
      latest = progress;
    },
  };
}

/**
 * Lines that scroll up, and under them the bar, which is redrawn. Nothing else is ever erased, so that what stood in the
 * terminal before is safe.
 */
function terminalDisplay({ output, style }: DisplayParts, clock: Clock, columns: () => number): Display {
  let widths = firstWidths();
  let tableColumns = columns();
  let latest: RunProgress | undefined;
  let drawnAt = Number.NEGATIVE_INFINITY;
  /** Columns that the bar takes now. */
  let barWidth = 0;

  /** Moves to where the bar begins. A terminal that has become narrower has broken it into several lines. */
  const backToBar = (): string => {
    if (barWidth === 0) return "";
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
  return {
    print(rows) {
      const start = barWidth > 0 ? `${backToBar()}\x1b[J` : "";
      barWidth = 0;
      return output.write(start + rows.map((row) => `${painted(row, style)}\n`).join("") + drawBar());
    },
    rowsOf(window, chosen) {
      if (columns() !== tableColumns) widths = firstWidths();
      tableColumns = columns();
      return tableRows(window, chosen, tableColumns - 1, style, widths);
    },
    progress(progress) {
      latest = progress;
      if (!progress || clock.now() - drawnAt < barInterval || output.blocked) return;
      output.write(`${backToBar()}${drawBar()}\x1b[K`);
    },
  };
}
