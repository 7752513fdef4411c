import { amountText, countText, numberText, printable } from "../../core/index.ts";
import type { HeartbeatRow, MetricRow, RunRow, StatsStore } from "../../metrics/index.ts";
import { option, type Values } from "../options.ts";
import type { Style } from "../terminal.ts";
import { dateText, durationText, headedTable } from "../text.ts";
import { fitsPattern, mainLoss } from "./choose-metrics.ts";

export const listOptions = {
  limit: option.count("<n>", "the most that are listed", { default: 20 }),
  metric: option.text("<key>", "the metric whose newest value is shown, instead of the loss"),
  json: option.json(),
};
type ListOptions = Values<typeof listOptions> & { readonly now: number };

/** The newest runs of a store, and whether there are more. */
export async function listRuns(store: StatsStore, { limit, ...options }: ListOptions) {
  const rows = await store.runs({ limit: limit + 1 });
  const runs: RunSummary[] = [];
  for (const row of rows.slice(0, limit)) {
    const latest = await store.latest(row.id);
    const signs = await readSigns(store, row, latest);
    runs.push(summarize(row, latest, { ...options, ...(signs && { signs }) }));
  }
  return { runs, more: rows.length > limit };
}

export function listText(
  location: string,
  { runs, more }: Awaited<ReturnType<typeof listRuns>>,
  { limit, metric }: ListOptions,
  { colors }: Pick<Style, "colors">,
): readonly string[] {
  if (runs.length === 0) return [printable(`${location} holds no runs`, 1000)];
  const rows = runs.map((run) => [
    run.id,
    run.name,
    outcomeText(run),
    dateText(run.startedAt),
    durationText(run.duration),
    extentText(run.counters),
    metricText(run, metric),
  ]);
  return [
    ...headedTable(["run", "name", "outcome", "started", "duration", "done", metric ?? usual], rows, colors),
    ...(more ? [colors.dim(`the newest ${countText(limit)}; --limit N lists more`)] : []),
  ];
}

/** `3 epochs, 1,200 updates`, or `1,200 steps` where no more is known. */
function extentText(counters: RunSummary["counters"]): string {
  const known = (units: readonly string[]): readonly string[] =>
    units.flatMap((unit) => (counters[unit] ? [amountText(counters[unit], unit)] : []));
  const usual = known(["epochs", "updates"]);
  return (usual.length > 0 ? usual : known(["steps"])).join(", ");
}

const usual = "train/loss";

/** The value alone where the heading says what it is. */
function metricText({ metric }: RunSummary, asked = usual): string {
  if (metric?.value === undefined) return "";
  const value = numberText(metric.value, { digits: 5 });
  return metric.key === asked ? value : `${value} (${metric.key})`;
}

/** A run with what follows from its row and its newest metrics. */
export type RunSummary = ReturnType<typeof summarize>;

export function summarize(
  run: RunRow,
  latest: readonly MetricRow[],
  { now, metric, signs }: { readonly now: number; readonly metric?: string; readonly signs?: LastSigns },
) {
  const walls = latest.map(({ wall }) => wall);
  const lastSign = Math.max(signs?.wall ?? 0, run.startedAt, run.heartbeat ?? 0, run.endedAt ?? 0, ...walls);
  const numbers = latest.filter(({ value }) => value !== undefined);
  const chosen = metric === undefined ? mainLoss(numbers) : numbers.find(fitsPattern(metric));
  return {
    ...run,
    counters: signs?.counters ?? run.counters,
    /** Milliseconds since 1970 of the newest thing heard of it: a heartbeat, a checkpoint, a metric, its start, its end. */
    lastSign,
    /** It has not ended, and nothing was heard of it for minutes, or its process is gone. */
    silent: isSilent({ outcome: run.outcome, lastSign, ...signs }, now),
    /** Milliseconds it was at work; of one that has not ended, up to its last sign. */
    duration: duration(run, lastSign, signs?.began),
    /** The newest value of the metric asked for, or of its loss. */
    metric: chosen && {
      key: chosen.key,
      name: chosen.name,
      value: chosen.value,
      step: chosen.step,
      axis: chosen.axis,
    },
  };
}

/** A run that was gone on with did not work in between: then its own count of seconds is what there is. */
function duration(
  { counters, resumes, startedAt, endedAt }: RunRow,
  lastSign: number,
  began = lastSign,
): number {
  const counted = (counters.seconds ?? 0) * 1000;
  if (resumes === 0 || counted === 0) return (endedAt ?? lastSign) - startedAt;
  return endedAt === undefined ? counted + lastSign - began : counted;
}

/** The last signs of a run that has not ended. */
interface LastSigns {
  /** Milliseconds since 1970 of the newest heartbeat, checkpoint or metric. */
  readonly wall: number;
  /** Milliseconds since 1970 at which its last process was first heard of. */
  readonly began: number | undefined;
  /** Its counters by then, as far as they were filed. */
  readonly counters: Readonly<Record<string, number>>;
  /** Its process was one of this machine, and is no more. */
  readonly gone: boolean;
}

/** Reads the last signs of a run that has not ended. The row of one that has ended says all. */
export async function readSigns(
  store: StatsStore,
  run: RunRow,
  latest: readonly MetricRow[],
): Promise<LastSigns | undefined> {
  if (run.outcome !== "running") return undefined;
  const heartbeats = await store.list(run.id, "heartbeat");
  const checkpoints = await store.list(run.id, "checkpoint");
  const beat = heartbeats.at(-1);
  const walls = [...heartbeats, ...checkpoints, ...latest].map(({ wall }) => wall);
  const steps = [...heartbeats, ...checkpoints].map((row) => ({ step: row.step, axis: "steps" }));
  return {
    wall: walls.reduce((a, b) => Math.max(a, b), run.startedAt),
    began: heartbeats.find(({ pid, host }) => pid === beat?.pid && host === beat.host)?.wall,
    counters: furthest(run.counters, [...steps, ...latest]),
    gone: beat !== undefined && (await isGone(beat)),
  };
}

/** Whatever the last beat said: only its process is looked for, where it is one of this machine. */
async function isGone(beat: HeartbeatRow): Promise<boolean> {
  // Here, because commands that need no database start faster without.
  const { isAlive } = await import("../../metrics/index.ts");
  return !isAlive({ ...beat, wall: 0, phase: "" }, { now: 0 });
}

/** Counters of where a run was last heard of. Those of an earlier moment would say less than was done. */
function furthest(
  filed: RunRow["counters"],
  rows: readonly { readonly step: number; readonly axis: string }[],
): Readonly<Record<string, number>> {
  const counters: Record<string, number> = {};
  for (const { step, axis } of rows) counters[axis] = Math.max(counters[axis] ?? 0, step);
  return (counters.steps ?? 0) > (filed.steps ?? 0) ? counters : { ...counters, ...filed };
}

/** The newest thing heard of a run; after this long without any, its process may be gone. */
const SILENCE_MS = 2 * 60_000;

/** The outcome of a run and its last sign of life. */
export interface Life {
  readonly outcome: string;
  /** Milliseconds since 1970 of the newest thing heard of it: a heartbeat, a metric, its start. */
  readonly lastSign: number;
  /** Its process is known to be gone. */
  readonly gone?: boolean;
}

/** True if a run has not ended and has been silent for so long that it may be gone. */
export const isSilent = ({ outcome, lastSign, gone = false }: Life, now: number): boolean =>
  outcome === "running" && (gone || now - lastSign > SILENCE_MS);

/** `completed`, `running`, or `no sign of life since 2026-11-15 12:03`. */
export const outcomeText = (run: { readonly silent: boolean } & Life): string =>
  run.silent ? `no sign of life since ${dateText(run.lastSign)}` : run.outcome;
