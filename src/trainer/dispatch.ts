import { didYouMean, EspalierError, nextTurn } from "../core/index.ts";
import type { Tensor } from "../engine/index.ts";
import { advanceCounters, type Counters, type Ramp } from "../schedule/index.ts";
import { nextSpans } from "./fuse.ts";
import { countedIn, ReportValues } from "./metrics.ts";
import type { Run } from "./run.ts";
import { type Report, type Request, type Segment, type Span, taskFailed } from "./task.ts";

/** The longest time that signals and timers wait for the event loop, in milliseconds. */
const breathAfter = 50;

/**
 * Calls of the task, and the way of the run past what they have done:
 *
 * ```
 * call   spans = the next repeats, as many as no hook watches     fuse.ts
 *        report = task.run({ spans, ramps })
 *        the report goes to newest metrics, epoch means and the check for finite numbers
 * pass   counters and position move past the repeats of one segment; again for each segment of the call
 * ```
 */
export class Dispatch {
  /** True when the event loop should get a turn. */
  breathDue = false;
  readonly #run: Run;
  #breathed: number;
  /** The clock after the last call. */
  #now = 0;
  /** True where the last call's data ended early. */
  #exhausted = false;
  #counted: Report["counted"];
  /** Rollouts of the last call that the run has passed. */
  #rolloutsPassed = 0;
  /** A tensor of the call at the last breath: where there is one, the index that `finite` looks at. */
  #mark: Tensor | undefined;

  constructor(run: Run) {
    this.#run = run;
    this.#breathed = run.clock.now();
  }

  /** Has the task do what comes next, and as much after it as no hook watches. Returns a promise where the task does. */
  call(segments: readonly Segment[]): void | Promise<void> {
    const run = this.#run;
    const spans = nextSpans(run, segments);
    let count = 0;
    for (const span of spans) count += span.count;
    const { counters } = run.progress;
    const ramps = run.ramps.fill(spans, count);
    const { signal, stopping } = run.ending;
    const request: Request = { at: counters, spans, count, ramps, signal, stopping };
    const started = run.clock.now();
    let report: Report | Promise<Report>;
    try {
      report = run.task.run(request);
    } catch (cause) {
      throw taskFailed("run", counters, cause);
    }
    if (!(report instanceof Promise)) return this.#take(request, report, started);
    return report.then(
      (settled) => this.#take(request, settled, started),
      (cause: unknown) => Promise.reject(taskFailed("run", counters, cause)),
    );
  }

  /** Takes a call's report. */
  #take(request: Request, report: Report, started: number): void {
    const run = this.#run;
    this.#now = run.clock.now();
    checkReport(request, report);
    const done = report.exhausted ?? request.count;
    const rollouts = rolloutsIn(request.spans, done);
    const phase = rollouts === 0 ? "train" : rollouts === done ? "rollout" : "fused";
    run.timings.add(phase, this.#now - started);
    let values: ReportValues | undefined;
    if (done > 0) {
      values = new ReportValues(report, done - rollouts, rollouts, {
        spans: request.spans,
        ramps: run.ramps.copy(request.count),
        began: run.progress.secondsAt(started),
        ended: run.progress.secondsAt(this.#now),
      });
      run.metrics.add(values);
      run.finite.add(report, done - rollouts, values);
      if (run.means.followed) run.means.add(values);
    }
    run.callDone(done, values);
    this.#counted = report.counted;
    this.#rolloutsPassed = 0;
    this.#exhausted = report.exhausted !== undefined;
    if (this.#now - this.#breathed > breathAfter) this.breathDue = true;
  }

  /** Moves the run past what the last call has done of a segment. Returns the number of repeats passed. */
  pass(segment: Segment): number {
    const run = this.#run;
    const { progress } = run;
    const count = Math.min(run.ahead, segment.repeats - progress.repeat);
    progress.advance(segment, count, this.#now);
    if (segment.phase === "rollout" && count > 0) {
      const from = this.#rolloutsPassed;
      this.#rolloutsPassed += count;
      if (this.#counted) progress.count(countedIn(this.#counted, from, this.#rolloutsPassed));
    }
    run.pass(count);
    if (run.ahead === 0 && this.#exhausted) progress.exhaust();
    return count;
  }

  /**
   * Lets the event loop turn, and waits for the work that the device was given before the last breath: work never piles
   * up by more than two breaths, and the device never runs dry.
   */
  async breathe(): Promise<void> {
    const { reported, clock, finite } = this.#run;
    const mark = this.#mark;
    this.#mark = finite.newest ?? reported?.tensor(reported.names[0] ?? "");
    if (mark && !mark.isDisposed) {
      await mark.ready();
      await finite.look(mark);
    }
    await new Promise<void>((resolve) => nextTurn(resolve));
    this.breathDue = false;
    this.#breathed = clock.now();
  }
}

/** Rollout repeats among the first `done` repeats of a call. */
function rolloutsIn(spans: readonly Span[], done: number): number {
  let rollouts = 0;
  let left = done;
  for (const { segment, count } of spans) {
    const here = Math.min(left, count);
    if (segment.phase === "rollout") rollouts += here;
    left -= here;
  }
  return rollouts;
}

function checkReport({ count }: Request, { metrics, exhausted }: Report): void {
  const hasMetrics = typeof metrics === "object" && metrics !== null;
  if (hasMetrics && !(exhausted !== undefined && exhausted > count)) return;
  throw new EspalierError(
    "TASK_INVALID",
    hasMetrics
      ? `the task's run says that ${exhausted} repeats were done, and ${count} were asked for`
      : "the task's run gave a report without metrics",
    { fix: "give { metrics: { loss } }, and in `exhausted` at most the request's count" },
  );
}

type Arrays = Readonly<Record<string, Float32Array>>;

/** A ramp at a moment: the value in use, the one that stands for its own, and the factor that it is scaled by. */
export interface RampValue {
  readonly value: number;
  readonly set: number | undefined;
  readonly factor: number;
}

/** The task's ramps as inputs of a call: their value at every repeat, in arrays that are reused. */
export class RampInputs {
  readonly #ramps: readonly (readonly [string, Ramp])[];
  #room: Record<string, Float32Array> = {};
  #size = 0;
  /** Views of the arrays by length. */
  readonly #views = new Map<number, Arrays>();
  /** Factors of ramps that a hook has scaled. */
  readonly #factors = new Map<string, number>();
  /** Values that stand for a ramp's own, each with the factor that the ramp had when it was set. */
  readonly #set = new Map<string, { readonly value: number; readonly factor: number }>();

  constructor(ramps: Readonly<Record<string, Ramp>>) {
    this.#ramps = Object.entries(ramps);
  }

  /** From the next call on a ramp has this many times its value. The factor is no part of the run's state. */
  scale(name: string, factor: number): void {
    this.#check(name);
    this.#factors.set(name, factor);
  }

  /**
   * From the next call on a ramp has this value; undefined: its own again. Scaled later, it is this value that is scaled:
   * `factor` is what the ramp was scaled by when it was set, by default what it is scaled by now.
   */
  set(name: string, value: number | undefined, factor = this.#factors.get(name) ?? 1): void {
    this.#check(name);
    if (value === undefined) this.#set.delete(name);
    else if (Number.isFinite(Math.fround(value))) this.#set.set(name, { value, factor });
    else throw notFinite(name, value);
  }

  /** The ramps at these counters, with what was set and by which factor they are scaled. */
  at(counters: Counters): Readonly<Record<string, RampValue>> {
    return Object.fromEntries(
      this.#ramps.map(([name, ramp]) => {
        const value = this.#valueOf(name, ramp, counters);
        return [name, { value, set: this.#set.get(name)?.value, factor: this.#factors.get(name) ?? 1 }];
      }),
    );
  }

  #check(name: string): void {
    const names = this.#ramps.map(([each]) => each);
    if (!names.includes(name))
      throw new EspalierError("RAMP_UNKNOWN", `the task has no ramp "${name}"${didYouMean(name, names)}`, {
        fix: `its ramps are ${names.join(", ") || "none"}`,
      });
  }

  #valueOf(name: string, ramp: Ramp, counters: Counters): number {
    const factor = this.#factors.get(name) ?? 1;
    const set = this.#set.get(name);
    if (set === undefined) return ramp.at(counters) * factor;
    return factor === set.factor ? set.value : set.value * (factor / set.factor);
  }

  /** Each ramp at the counters before every repeat. Seconds stand still within a call. */
  fill(spans: readonly Span[], count: number): Arrays {
    if (this.#ramps.length === 0) return none;
    const arrays = this.#arrays(count);
    let row = 0;
    for (const { at, segment, count: repeats } of spans)
      for (let i = 0; i < repeats; i++, row++) {
        const counters = i === 0 ? at : advanceCounters(at, segment.adds, i);
        for (const [name, ramp] of this.#ramps) {
          const value = this.#valueOf(name, ramp, counters);
          if (!Number.isFinite(value)) throw notFinite(name, value, ` after ${counters.batches} batches`);
          (arrays[name] as Float32Array)[row] = value;
        }
      }
    return arrays;
  }

  /** The numbers of the last fill in arrays that stay: those of a call are reused. */
  copy(count: number): () => Arrays {
    const { length } = this.#ramps;
    if (length === 0) return () => none;
    const [arrays, all] = [this.#arrays(count), new Float32Array(length * count)];
    this.#ramps.forEach(([name], i) => {
      all.set(arrays[name] as Float32Array, i * count);
    });
    return () =>
      Object.fromEntries(this.#ramps.map(([name], i) => [name, all.subarray(i * count, (i + 1) * count)]));
  }

  /** True where a ramp reads one of these counters, or does not say which it reads. */
  read(units: readonly string[]): boolean {
    return this.#ramps.some(([, ramp]) => ramp.units?.some((unit) => units.includes(unit)) ?? true);
  }

  #arrays(count: number): Arrays {
    if (count > this.#size) {
      this.#size = Math.max(count, 2 * this.#size);
      this.#room = Object.fromEntries(this.#ramps.map(([name]) => [name, new Float32Array(this.#size)]));
      this.#views.clear();
    }
    let view = this.#views.get(count);
    if (view === undefined) {
      view = Object.fromEntries(
        Object.entries(this.#room).map(([name, array]) => [name, array.subarray(0, count)]),
      );
      if (this.#views.size < 64) this.#views.set(count, view);
    }
    return view;
  }
}

const none: Arrays = Object.freeze({});

const notFinite = (name: string, value: number, when = ""): EspalierError =>
  new EspalierError("RAMP_NOT_FINITE", `the ramp "${name}" is ${value}${when}`, {
    fix: "mend the ramp, so that it is a finite number at all counters",
  });
