import { EspalierError } from "../core/index.ts";
import type { Tensor } from "../engine/index.ts";
import { advanceCounters } from "../schedule/index.ts";
import { taskFailed } from "./failure.ts";
import { nextSpans } from "./fuse.ts";
import { emit, type Run } from "./run.ts";
import type { Report, Request, Segment } from "./task.ts";
import { countedIn, ReportValues } from "./values.ts";

/** How long the event loop may be kept from signals and timers, in milliseconds. */
const breathAfter = 50;

/** Has the task do a stretch of work, and moves the run past what was done. */
export class Dispatch {
  /** Whether the event loop should get a turn. */
  breathDue = false;
  readonly #run: Run;
  #breathed: number;
  /** The clock after the last call. */
  #now = 0;
  #exhausted = false;
  /** What the last call's rollouts counted, and how many of them the loop has come past. */
  #counted: Report["counted"];
  #rollouts = 0;
  /** A tensor of the call at the last breath: where there is one, the index that `finite` looks at. */
  #mark: Tensor | undefined;

  constructor(run: Run) {
    this.#run = run;
    this.#breathed = run.clock.now();
  }

  /** One call: what comes next, and as much after it as nobody watches. */
  call(segments: readonly Segment[]): unknown {
    const run = this.#run;
    const spans = nextSpans(run, segments);
    let count = 0;
    for (const span of spans) count += span.count;
    const { counters } = run.progress;
    const ramps = run.ramps.fill(spans, count);
    const request: Request = { at: counters, spans, count, ramps, signal: run.ending.signal };
    const started = run.clock.now();
    let report: Report | Promise<Report>;
    try {
      report = run.task.run(request);
    } catch (cause) {
      throw taskFailed("run", counters, cause);
    }
    if (!(report instanceof Promise)) return this.#done(request, report, started);
    return report.then(
      (settled) => this.#done(request, settled, started),
      (cause: unknown) => Promise.reject(taskFailed("run", counters, cause)),
    );
  }

  #done(request: Request, report: Report, started: number): unknown {
    const run = this.#run;
    this.#now = run.clock.now();
    const { exhausted, metrics } = report;
    if (
      typeof metrics !== "object" ||
      metrics === null ||
      (exhausted !== undefined && exhausted > request.count)
    )
      throw badReport(request, report);
    const done = exhausted ?? request.count;
    let rollouts = 0;
    let left = done;
    for (const { segment, count } of request.spans) {
      const here = Math.min(left, count);
      if (segment.phase === "rollout") rollouts += here;
      left -= here;
    }
    const phase = rollouts === 0 ? "train" : rollouts === done ? "rollout" : "fused";
    run.phases.add(phase, this.#now - started);
    if (done > 0) {
      run.values = new ReportValues(report, done - rollouts, rollouts, {
        spans: request.spans,
        ramps: run.ramps.copy(request.count),
        began: run.progress.secondsAt(started),
        ended: run.progress.secondsAt(this.#now),
      });
      run.metrics.add(run.values);
      run.finite.add(report, done - rollouts, run.values);
      if (run.means.followed) run.means.add(run.values);
    }
    run.ahead = done;
    this.#counted = report.counted;
    this.#rollouts = 0;
    this.#exhausted = exhausted !== undefined;
    if (this.#now - this.#breathed > breathAfter) this.breathDue = true;
    return this.walk((request.spans[0] as Request["spans"][0]).segment);
  }

  /** Moves past what has been done of a segment. */
  walk({ phase, repeats, adds }: Segment): unknown {
    const run = this.#run;
    const { progress } = run;
    const count = Math.min(run.ahead, repeats - progress.repeat);
    if (count > 1 && phase === "train") {
      // Nobody watched the batches before the last one, yet their events occurred.
      const { counters } = progress;
      const before = advanceCounters(counters, adds, count - 1);
      progress.since.onBatchStart = before;
      progress.since.onBatchEnd = before;
    }
    if (count > 0) progress.advance(adds, count, this.#now);
    if (phase === "rollout" && count > 0) {
      const from = this.#rollouts;
      this.#rollouts += count;
      if (this.#counted) progress.count(countedIn(this.#counted, from, this.#rollouts));
    }
    progress.repeat += count;
    progress.done += count;
    run.ahead -= count;
    if (run.ahead === 0) progress.exhausted = this.#exhausted;
    const over = progress.repeat === repeats || progress.exhausted;
    if (phase === "rollout") progress.next = over ? "onRolloutEnd" : "work";
    else progress.next = count > 0 ? "onBatchEnd" : "segment";
    return run.ahead === 0 && run.values && count > 0 ? emit(run, "onBatchesEnd") : undefined;
  }

  /**
   * Lets the event loop turn, and waits for what the device was given before the last time: work never piles up by
   * more than two breaths, and the device never runs dry.
   */
  async breathe(): Promise<void> {
    const { values, clock, finite } = this.#run;
    const mark = this.#mark;
    this.#mark = finite.newest ?? values?.tensor(values.names[0] ?? "");
    if (mark && !mark.isDisposed) {
      await mark.ready();
      await finite.look(mark);
    }
    await new Promise((resolve) => setImmediate(resolve));
    this.breathDue = false;
    this.#breathed = clock.now();
  }
}

const badReport = ({ count }: Request, report: Report): EspalierError =>
  new EspalierError(
    "TASK_INVALID",
    typeof report.metrics !== "object" || report.metrics === null
      ? "the task's run gave a report without metrics"
      : `the task's run says that ${report.exhausted} repeats were done, and ${count} were asked for`,
    { fix: "give { metrics: { loss } }, and in `exhausted` at most the request's count" },
  );
