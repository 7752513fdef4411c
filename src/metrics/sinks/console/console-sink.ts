import { badOption, type Clock, checkNames, checkSize, shown, systemClock } from "../../../core/index.ts";
import { every } from "../../../schedule/index.ts";
import type { Sink, SinkOptions } from "../sink.ts";
import { chooser, figures } from "./choice.ts";
import { type ConsoleStream, outletOf } from "./outlet.ts";
import { plainDisplay } from "./plain.ts";
import { hasUnicode, isLive, styleOf, wantsColor } from "./style.ts";
import { terminalDisplay } from "./terminal.ts";

/** Options of {@link consoleSink}. */
export interface ConsoleOptions extends SinkOptions {
  /** Default `process.stdout`. */
  readonly stream?: ConsoleStream;
  /** Default: on a terminal, unless `NO_COLOR` is set; everywhere where `FORCE_COLOR` is set. */
  readonly color?: boolean;
  /** Arrows and blocks instead of signs of ASCII. Default: where a terminal has them. */
  readonly unicode?: boolean;
  /** Width of the terminal. Default: as wide as it is at the time. */
  readonly columns?: number;
  /** Metrics that come first and are always shown: `train/loss`, `validation/*`; `*` stands for any characters. */
  readonly important?: readonly string[];
  /** Metrics shown of one window; how many more there are is said. Default 12, or all where `metrics` names them. */
  readonly limit?: number;
  /**
   * Whether figures of the machine and of time are shown, the categories `system` and `time`. Default: on a terminal,
   * and where `metrics` or `categories` choose; elsewhere a line has room for those alone that `important` names.
   */
  readonly system?: boolean;
  readonly clock?: Clock;
  /** Where `NO_COLOR`, `FORCE_COLOR` and `TERM` are looked up. Default `process.env`. */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

const own = ["stream", "color", "unicode", "columns", "important", "limit", "system", "clock", "env"];

/**
 * Shows a run where it was started. On a terminal: a progress bar, above it a table of the metrics that matter, one a
 * window. Anywhere else: one plain line a window, without control codes: training and validation, evaluation and
 * rollouts, and nothing of the machine unless it is asked for. A reader that goes away, such as `head`, ends
 * the output and nothing else.
 *
 * @example
 * ```ts
 * consoleSink(); // every 1000 steps
 * consoleSink({ schedule: every({ epochs: 1 }), important: ["validation/*", "train/learningRate"] });
 * ```
 */
export function consoleSink(options: ConsoleOptions = {}): Sink {
  const kind = "consoleSink";
  checkNames(kind, options, ["name", "schedule", "categories", "metrics", ...own]);
  const { stream = process.stdout, env = process.env, clock = systemClock } = options;
  if (options.columns !== undefined) checkSize(kind, "columns", options.columns);
  const limit = limitOf(kind, options);
  const live = isLive(stream, env);
  const parts = {
    outlet: outletOf(stream),
    style: styleOf({
      color: options.color ?? wantsColor(live, env),
      unicode: options.unicode ?? hasUnicode(env, process.platform),
    }),
    choose: chooser({
      ...{ important: options.important ?? options.metrics ?? [], limit },
      leftOut: showsFigures(options, live) ? [] : figures,
    }),
  };
  // Some terminals say 0 where they do not know.
  const columns = (): number => options.columns ?? (stream.columns || 80);
  return {
    name: options.name ?? "console",
    schedule: options.schedule ?? every({ steps: 1000 }),
    ...(options.categories === undefined ? {} : { categories: options.categories }),
    ...(options.metrics === undefined ? {} : { metrics: options.metrics }),
    ...(live ? terminalDisplay({ ...parts, clock, columns }) : plainDisplay(parts)),
  };
}

function limitOf(kind: string, { limit, metrics }: ConsoleOptions): number {
  if (limit === undefined) return metrics === undefined ? 12 : Number.POSITIVE_INFINITY;
  if (limit === Number.POSITIVE_INFINITY || (Number.isSafeInteger(limit) && limit >= 0)) return limit;
  throw badOption(kind, `limit is ${shown(limit)}`, "give a whole number from 0 on, or Infinity for all");
}

const showsFigures = ({ system, metrics, categories }: ConsoleOptions, live: boolean): boolean =>
  system ?? (live || metrics !== undefined || categories !== undefined);
