import { EspalierError } from "../../../core/index.ts";
import type { RunRow, StatsStore } from "../../../metrics/index.ts";
import { fitsPattern, matching } from "../choose-metrics.ts";
import { isSilent } from "../outcome.ts";
import type { Output } from "../output.ts";
import type { Surroundings } from "../surroundings.ts";
import { plain } from "../text/plain.ts";
import type { Style } from "../text/style.ts";
import { ageText } from "../text/times.ts";
import { lastPlace } from "./last-place.ts";
import { tailLines } from "./lines.ts";

/** Rows of what came last that are looked at first, and lines that are printed of them. */
const LATELY = 200;
const LATELY_LINES = 10;
/** Rows that are read at once. */
const PAGE = 1000;

/** What `espalier tail` is asked for. */
export interface TailOptions {
  readonly metric?: readonly string[];
  /** Milliseconds from one look to the next. */
  readonly interval: number;
  readonly style: Style;
}

/** Prints what came lately, and what comes, until the run has ended or nobody reads any more. */
export async function tail(
  store: StatsStore,
  asked: string,
  { metric, interval, style }: TailOptions,
  { out, err, clock, pause, interrupts }: Surroundings,
): Promise<void> {
  const { signal: interrupted, stop } = interrupts();
  const over = AbortSignal.any([interrupted, out.gone]);
  const wanted = metric?.map(fitsPattern);
  try {
    let run = await store.run(asked);
    let place = await lastPlace(store, run.id, LATELY);
    let lastSign = run.startedAt;
    let warned = false;
    let most = LATELY_LINES;
    if (metric) await checkMetrics(store, run, metric, err);
    while (!over.aborted) {
      // Before the rows are read: whatever the run filed before it ended is then among them.
      run = await store.run(run.id);
      const { rows, next } = await store.since(run.id, place, PAGE);
      place = next;
      const chosen = wanted ? rows.filter((row) => wanted.some((fits) => fits(row))) : rows;
      const lines = tailLines(chosen, style).slice(-most);
      most = Number.POSITIVE_INFINITY;
      if (lines.length > 0) await out.write(`${lines.join("\n")}\n`);
      if (rows.length === PAGE) continue;
      if (run.outcome !== "running") return await out.write(`${endText(run)}\n`);
      lastSign = Math.max(lastSign, run.heartbeat ?? 0, ...rows.map(({ wall }) => wall));
      const silent = isSilent({ outcome: run.outcome, lastSign }, clock.wall());
      if (silent && !warned)
        await err.write(
          `no sign of the run for ${ageText(clock.wall() - lastSign)}: its process may be gone. Ctrl-C ends this\n`,
        );
      warned = silent;
      await pause(interval, over);
    }
  } finally {
    stop();
  }
}

/** What a run that goes on does not have yet may come. */
async function checkMetrics(
  store: StatsStore,
  run: RunRow,
  asked: readonly string[],
  err: Output,
): Promise<void> {
  try {
    matching(await store.metrics(run.id), asked);
  } catch (error) {
    if (run.outcome !== "running" || !(error instanceof EspalierError)) throw error;
    await err.write(`not yet: ${error.message.split("\n")[0]}\n`);
  }
}

const endText = ({ outcome, reason }: RunRow): string =>
  `the run has ended: ${outcome}${reason ? `, ${plain(reason.split("\n")[0] ?? "")}` : ""}`;
