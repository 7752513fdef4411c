import {
  createReadStream,
  existsSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { amountText, countText, EspalierError, makeDirectory } from "../../core/index.ts";
import type { MetricRecord, MetricRow, RunRow, Sink, StatsStore } from "../../metrics/index.ts";
import { type Counters, noCounters } from "../../schedule/index.ts";
import { option, type Values } from "../options.ts";
import { type Output, type Surroundings, statusLine } from "../terminal.ts";
import { jsonText } from "../text.ts";

export const exportOptions = {
  /** TensorBoard's is a directory of event files, the others are one file each. */
  to: option.oneOf("<format>", ["csv", "jsonl", "tensorboard"], "what to write", { required: true }),
  out: option.text("<path>", "where to; - is standard output (default: named after the run's id)"),
  force: option.force("write over what is there"),
  json: option.json("print what was written as JSON"),
};
type ExportOptions = Values<typeof exportOptions>;

/** Writes a run's metrics with the sink that a run itself would have used; false where Ctrl-C came first. */
export async function exportRun(
  store: StatsStore,
  asked: string,
  options: ExportOptions,
  { out, err, interrupts }: Surroundings,
): Promise<boolean> {
  const run = await store.run(asked);
  const target = exportTarget(run.id, options);
  const interrupt = interrupts();
  const over = AbortSignal.any([interrupt.signal, out.gone]);
  try {
    const sink = await sinkFor(options.to, target.path);
    const passOn = target.name === "-" ? follower(target.path, out) : undefined;
    // Lines are final once they are written. A table is not: it is written again when a column comes.
    const each = options.to === "jsonl" ? passOn : undefined;
    const count = await pour(store, run, sink, { err, over, each });
    if (over.aborted) return !interrupt.signal.aborted;
    target.commit();
    if (passOn) await passOn();
    else if (options.json)
      await out.write(`${jsonText({ run: run.id, format: options.to, path: target.name, values: count })}\n`);
    else await out.write(`${amountText(count, "values")} of run ${run.id} in ${target.name}\n`);
    return true;
  } catch (error) {
    throw error instanceof EspalierError ? error : exportFailed(target.name, error);
  } finally {
    interrupt.stop();
    target.clean();
  }
}

async function sinkFor(format: ExportOptions["to"], path: string): Promise<Sink> {
  const { csvSink, jsonlSink, tensorBoardSink } = await import("../../metrics/index.ts");
  return { csv: csvSink, jsonl: jsonlSink, tensorboard: tensorBoardSink }[format](path);
}

/** Gives a sink all there is, page by page; tells how many values there were. */
async function pour(
  store: StatsStore,
  run: RunRow,
  sink: Sink,
  {
    err,
    over,
    each,
  }: { readonly err: Output; readonly over: AbortSignal; each: (() => Promise<void>) | undefined },
): Promise<number> {
  const { id, name, startedAt, config, outcome, reason } = run;
  const total = (await store.metrics(id)).reduce((sum, { points }) => sum + points, 0);
  const status = err.isTTY
    ? statusLine({ isTTY: true, columns: err.columns ?? 80, write: (text) => void err.write(text) })
    : undefined;
  let count = 0;
  try {
    await sink.open?.({ id, name, startedAt, config });
    for await (const records of recordsOf(store, id)) {
      if (over.aborted) break;
      await sink.write(records);
      await each?.();
      count += records.length;
      status?.say(`${countText(count)} of ${countText(total)} values`);
    }
  } finally {
    status?.end();
    await sink.close?.({
      // A run that goes on has been cut off here, as far as its export is concerned.
      outcome: outcome === "running" ? "interrupted" : outcome,
      ...(reason !== undefined && { reason }),
      counters: { ...noCounters, ...run.counters },
    });
  }
  return count;
}

/** Passes on what a file has become longer by, each time it is called. */
function follower(path: string, out: Output): () => Promise<void> {
  let start = 0;
  return async () => {
    for await (const chunk of createReadStream(path, { start })) {
      if (out.gone.aborted) return;
      const bytes = chunk as Uint8Array;
      await out.write(bytes);
      start += bytes.length;
    }
  };
}

const PAGE = 5000;

/** All metrics of a run as its logger gave them to sinks: as they came, windows never cut in two. */
async function* recordsOf(
  store: Pick<StatsStore, "since">,
  run: string,
): AsyncGenerator<readonly MetricRecord[]> {
  const recordOf = recordMaker();
  let held: readonly MetricRecord[] = [];
  let place = 0;
  for (let more = true; more; ) {
    const { rows, next } = await store.since(run, place, PAGE);
    place = next;
    more = rows.length === PAGE;
    const records = [...held, ...rows.map(recordOf)];
    // The last window of a page may go on in the next one.
    const wall = records.at(-1)?.wall;
    const whole = more ? records.findLastIndex((record) => record.wall !== wall) + 1 : records.length;
    held = records.slice(whole);
    if (whole > 0) yield records.slice(0, whole);
  }
}

/** Makes records of rows. Those of one step share their counters. */
function recordMaker(): (row: MetricRow) => MetricRecord {
  let last: { readonly axis: string; readonly step: number; readonly counters: Counters } | undefined;
  return (row) => {
    const { category, name, key, unit, step, axis, wall, count, notFinite } = row;
    if (last?.step !== step || last.axis !== axis)
      // The store keeps the one that it is filed under. Zeros for the others would be made up.
      last = { axis, step, counters: { [axis]: step } as Counters };
    const { counters } = last;
    const value = row.value ?? row.text ?? row.histogram ?? Number.NaN;
    const reduction = row.reduction as MetricRecord["reduction"];
    return { category, name, key, unit, step, axis, counters, wall, value, reduction, count, notFinite };
  };
}

/**
 * Chooses the place of an export, `-` for standard output; refuses one that is taken unless `force`. It is written
 * beside its place first, to `path`, so that half an export never looks whole; `commit` puts it there.
 */
function exportTarget(run: string, { to: format, out, force = false }: ExportOptions) {
  const name = out ?? (format === "tensorboard" ? `${run}-tensorboard` : `${run}.${format}`);
  if (name === "-" && format === "tensorboard")
    throw new EspalierError("EXPORT_TARGET", "event files cannot be written to standard output", {
      fix: "give a directory with --out, or export to csv or jsonl",
    });
  const final = name === "-" ? join(tmpdir(), `${run}.${format}`) : resolve(name);
  const isDirectory = existsSync(final) ? statSync(final).isDirectory() : undefined;
  const isEmpty = isDirectory && format === "tensorboard" && readdirSync(final).length === 0;
  if (name !== "-" && isDirectory !== undefined && !isEmpty && !force)
    throw new EspalierError("EXPORT_EXISTS", `${name} is there already`, {
      fix: "give another path with --out, or --force to write over it",
    });
  if (name !== "-" && isDirectory !== undefined && isDirectory !== (format === "tensorboard"))
    throw new EspalierError("EXPORT_EXISTS", `${name} is a ${isDirectory ? "directory" : "file"}`, {
      fix: "give another path with --out",
    });
  const draft = draftBeside(final, name);
  const path = join(draft, basename(final));
  const place = format === "tensorboard" ? placeDirectory : renameSync;
  return {
    name,
    path,
    clean: () => rmSync(draft, { recursive: true, force: true }),
    commit: () => (name === "-" ? undefined : place(path, final)),
  };
}

/** A directory on the same disk, so that putting the export in its place is one step. */
function draftBeside(final: string, name: string): string {
  try {
    makeDirectory(dirname(final));
    return mkdtempSync(join(dirname(final), `.${basename(final)}-`));
  } catch (error) {
    throw exportFailed(name, error);
  }
}

/** An error of the file system as one that says what to do. */
const exportFailed = (name: string, cause: unknown): EspalierError =>
  new EspalierError(
    "EXPORT_FAILED",
    `${name === "-" ? "standard output" : name} could not be written: ${cause instanceof Error ? cause.message : String(cause)}`,
    { fix: "see that the place can be written to and has room, or give another with --out", cause },
  );

/** Files of a directory and of those in it, relative to it. */
const filesIn = (directory: string): readonly string[] =>
  readdirSync(directory, { recursive: true, encoding: "utf8" }).filter((name) =>
    statSync(join(directory, name)).isFile(),
  );

/** Replaces the event files of an earlier export. Whatever else lies there is not ours to remove. */
function placeDirectory(path: string, final: string): void {
  if (!existsSync(final)) {
    renameSync(path, final);
    return;
  }
  for (const name of filesIn(final)) if (basename(name).includes(".tfevents.")) rmSync(join(final, name));
  for (const name of filesIn(path)) {
    makeDirectory(dirname(join(final, name)));
    renameSync(join(path, name), join(final, name));
  }
}
