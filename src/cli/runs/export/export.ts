import { createReadStream } from "node:fs";
import { EspalierError } from "../../../core/index.ts";
import type { RunRow, Sink, StatsStore } from "../../../metrics/index.ts";
import { noCounters } from "../../../schedule/index.ts";
import { statusLine } from "../../engine/status-line.ts";
import type { Output } from "../output.ts";
import type { Surroundings } from "../surroundings.ts";
import { amountText, countText } from "../text/numbers.ts";
import { recordsOf } from "./records.ts";
import { exportFailed, exportTarget, type Format } from "./target.ts";

/** What `espalier export` is asked for. */
export interface ExportOptions {
  readonly to: Format;
  readonly out?: string;
  readonly force?: boolean;
}

/** Writes a run's metrics with the sink that a run itself would have used; false where Ctrl-C came first. */
export async function exportRun(
  store: StatsStore,
  asked: string,
  options: ExportOptions,
  { out, err, interrupts }: Surroundings,
): Promise<boolean> {
  const run = await store.run(asked);
  const target = exportTarget(run.id, options.to, options);
  const interrupt = interrupts();
  const over = AbortSignal.any([interrupt.signal, out.gone]);
  try {
    const sink = await sinkFor(options.to, target.path);
    const reader = target.name === "-" ? follower(target.path, out) : undefined;
    // Lines are final once they are written. A table is not: it is written anew when a column comes.
    const each = options.to === "jsonl" ? reader : undefined;
    const count = await pour(store, run, sink, { err, over, ...(each && { each }) });
    if (over.aborted) return !interrupt.signal.aborted;
    target.commit();
    if (reader) await reader();
    else await out.write(`${amountText(count, "values")} of run ${run.id} in ${target.name}\n`);
    return true;
  } catch (error) {
    throw error instanceof EspalierError ? error : exportFailed(target.name, error);
  } finally {
    interrupt.stop();
    target.clean();
  }
}

async function sinkFor(format: Format, path: string): Promise<Sink> {
  const { csvSink, jsonlSink, tensorBoardSink } = await import("../../../metrics/index.ts");
  return { csv: csvSink, jsonl: jsonlSink, tensorboard: tensorBoardSink }[format](path);
}

/** Gives a sink all there is, page by page; tells how many values there were. */
async function pour(
  store: StatsStore,
  run: RunRow,
  sink: Sink,
  { err, over, each }: { readonly err: Output; readonly over: AbortSignal; each?(): Promise<void> },
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
