import type { Json } from "../../checkpoint/index.ts";
import { type Clock, type Options, option } from "../../core/index.ts";
import type { Counters, Schedule } from "../../schedule/index.ts";
import type { MetricRecord } from "../record.ts";
import type { RunEnding, RunInfo, RunProgress } from "../run-info.ts";

/** The option `schedule` of sinks and hooks. */
export const scheduleOption = (example: string) =>
  option.object<Schedule>(`a schedule, such as ${example}`, ["due"], {});

/** The option `clock` of what writes times. */
export const clockOption = option.object<Clock>("a clock", ["wall"], {});

/** The table of {@link SinkOptions}: sinks add their own options to it. */
export const sinkOptions = {
  /** Unique within a logger. Default: the kind of sink. */
  name: option.text({}),
  /** When its windows end. Default: every 1000 steps for consoles, every 100 for all others. */
  schedule: scheduleOption("every({ steps: 100 })"),
  /** Categories it gets. Default: all. */
  categories: option.list<string>('a list such as ["train"]', {}),
  /** Metrics it gets: `train/loss`, `validation/*`; `*` stands for any characters. Default: all. */
  metrics: option.list<string>('a list such as ["validation/*"]', {}),
};

/** Options that every sink takes. */
export interface SinkOptions extends Options<typeof sinkOptions> {}

/**
 * A place where metrics go. Calls come one after the other, never two at a time; a call may be asynchronous. A call
 * that throws is made again with the same records, so a sink must not file twice what it filed before the error;
 * delivery.ts decides when to retry and where records wait meanwhile. An EspalierError with the code `SINK_REFUSED`
 * says that these records can never be filed, one with `SINK_UNUSABLE` that no call can succeed.
 *
 * @example
 * ```ts
 * const lines: string[] = [];
 * const mine: Sink = { name: "mine", write: (records) => void lines.push(...records.map(({ key }) => key)) };
 * const logger = new Logger({ sinks: [mine] });
 * ```
 */
export interface Sink extends SinkOptions {
  readonly name: string;
  /** The file that it writes, if any: no two sinks of a logger may have the same. */
  readonly path?: string;
  /** Called first, once per process; again after a failure. */
  open?(run: RunInfo): void | Promise<void>;
  /** Files the records of a closed window, in order; of several windows, where they had to wait. */
  write(records: readonly MetricRecord[]): void | Promise<void>;
  /** Shows how far the run is, for sinks that show it. Called often; must not fail. */
  progress?(progress: RunProgress): void;
  /** Shows a message to people: warnings, the end of the run. */
  message?(text: string): void;
  /** Called last. Everything it buffered is written when it returns. */
  close?(ending: RunEnding): void | Promise<void>;
}

/** The point after which a resumed run files its metrics again. Undefined for a new run. */
export const filedUpTo = (run: Pick<RunInfo, "resumedAt" | "filedUpTo">): Counters | undefined =>
  run.filedUpTo ?? run.resumedAt;

/**
 * True where a resumed run files this record again: it lies after the point where the run goes on, on its own axis.
 * Records on an axis that the run does not know are kept: a value twice is better than none.
 */
export const comesAgain = (
  { step, axis }: Pick<MetricRecord, "step" | "axis">,
  filed: Counters | undefined,
): boolean => step > (filed?.[axis] ?? Number.POSITIVE_INFINITY);

/** Values of one step of one axis, as texts. */
export interface StepRow extends Pick<MetricRecord, "axis" | "step" | "wall" | "counters"> {
  readonly values: Map<string, string>;
}

/**
 * Records by axis and step, in the order in which they came. Two values of one metric stand in two rows; what has no
 * text is left out.
 */
export function rowsOf(
  records: readonly MetricRecord[],
  textOf: (value: MetricRecord["value"]) => string | undefined,
): readonly StepRow[] {
  const rows: StepRow[] = [];
  const newest = new Map<string, StepRow>();
  let row: StepRow | undefined;
  for (const { key, step, axis, wall, counters, value } of records) {
    const text = textOf(value);
    if (text === undefined) continue;
    if (row?.step !== step || row.axis !== axis) row = newest.get(`${axis} ${step}`);
    if (!row || row.values.has(key)) {
      row = { axis, step, wall, counters, values: new Map() };
      rows.push(row);
      newest.set(`${axis} ${step}`, row);
    }
    row.values.set(key, text);
  }
  return rows;
}

/** A number with all its digits and its sign, which String leaves out of -0. */
export const numeral = (value: number): string => (Object.is(value, -0) ? "-0" : String(value));

/** Settings one by one: nested ones by their path, such as `model.width`, and what is no object as `config`. */
export function settingsByPath(config: Json, above = ""): readonly (readonly [path: string, value: Json])[] {
  if (typeof config === "object" && config !== null && !Array.isArray(config))
    return Object.entries(config).flatMap(([name, value]) =>
      settingsByPath(value, above === "" ? name : `${above}.${name}`),
    );
  return above === "" && config === null ? [] : [[above || "config", config]];
}
