import type { IntervalHistogram } from "node:perf_hooks";
import type { Clock } from "../../core/index.ts";
import { node } from "../../core/index.ts";
import { memory } from "../../engine/index.ts";
import type { Counters } from "../../schedule/index.ts";
import type { PhaseTiming, TrainerContext } from "../../trainer/index.ts";
import type { machineMetrics } from "../metric.ts";
import type { RunProgress } from "../run-info.ts";

/*
 * Measurements of the metrics hook itself:
 *
 *   ThroughputMeter   category `time`: samples and steps per second, shares of phases and hooks
 *   ProgressMeter     how far the run is, for sinks that show it
 *   SystemProbe       category `system`: processors, memory, event loop
 */

/** Times and counters at one reading. */
interface ThroughputReading {
  readonly counters: Counters;
  readonly seconds: number;
  readonly phases: Readonly<Record<string, PhaseTiming>>;
  /** Milliseconds by hook. */
  readonly hooks: ReadonlyMap<string, number>;
}

/**
 * Throughput since the last reading: samples, or steps, per second of wall time, everything included: training,
 * validation, hooks, compiling. Phases and hooks are shares of the same time. The time of a phase is that of the host:
 * a device that works asynchronously may still be busy.
 */
export class ThroughputMeter {
  #last: ThroughputReading;
  /** Seconds between the last two readings. */
  #interval = 0;

  constructor(context: TrainerContext) {
    this.#last = readingOf(context);
  }

  /** Metrics since the last reading; none where no time has passed. */
  read(context: TrainerContext): Readonly<Record<string, number>> {
    const now = readingOf(context);
    const last = this.#last;
    this.#last = now;
    this.#interval = now.seconds - last.seconds;
    return this.#interval > 0 ? throughput(last, now, this.#interval) : {};
  }

  /**
   * The last reading of a run. None where the interval is much shorter than the one before: in a mean over several it
   * would count for more than it is.
   */
  readLast(context: TrainerContext): Readonly<Record<string, number>> {
    const seconds = context.clock.now() / 1000 - this.#last.seconds;
    return seconds >= this.#interval / 2 ? this.read(context) : {};
  }
}

const readingOf = ({ counters, clock, timings, hookTimings }: TrainerContext): ThroughputReading => ({
  counters,
  seconds: clock.now() / 1000,
  phases: timings,
  hooks: new Map(hookTimings.map(({ hook, total }) => [hook, total])),
});

function throughput(
  last: ThroughputReading,
  now: ThroughputReading,
  seconds: number,
): Readonly<Record<string, number>> {
  const found: Record<string, number> = {
    samplesPerSecond: (now.counters.samples - last.counters.samples) / seconds,
    stepsPerSecond: (now.counters.steps - last.counters.steps) / seconds,
  };
  for (const [phase, timing] of Object.entries(now.phases))
    if (timing.calls > 0)
      found[`phases/${phase}`] = (timing.seconds - (last.phases[phase]?.seconds ?? 0)) / seconds;
  for (const [hook, total] of now.hooks)
    if (total > 0) found[`hooks/${hook}`] = (total - (last.hooks.get(hook) ?? 0)) / 1000 / seconds;
  return found;
}

/** Seconds after which the past counts by a third. */
const memorySeconds = 15;

interface Position {
  readonly counters: Counters;
  readonly epochShare: number;
}

/** A limit of the run. */
interface Goal {
  readonly unit: "epochs" | "updates" | "samples" | "seconds";
  readonly total: number;
}

/** The limits of a run that has any. */
export function goalsOf({
  epochs,
  maxUpdates,
  maxSamples,
  maxSeconds,
}: TrainerContext["config"]): readonly Goal[] {
  const goals: readonly Goal[] = [
    { unit: "epochs", total: epochs },
    { unit: "updates", total: maxUpdates },
    { unit: "samples", total: maxSamples },
    { unit: "seconds", total: maxSeconds },
  ];
  return goals.filter(({ total }) => Number.isFinite(total));
}

/** Measures how far a run is, its rate and the time left: by the goal that it will reach first. */
export class ProgressMeter {
  readonly #goals: readonly Goal[];
  #last: Position;
  /** Sums in which the past fades: seconds, steps and the unit of each goal. Their quotients are rates. */
  #seconds = 0;
  #steps = 0;
  #done: readonly number[];

  /** Rates are those of this process: what happened before does not count. */
  constructor(context: TrainerContext) {
    this.#goals = goalsOf(context.config);
    this.#done = this.#goals.map(() => 0);
    this.#last = positionOf(context);
  }

  read(context: TrainerContext): RunProgress {
    const now = positionOf(context);
    const { counters } = now;
    this.#update(now);
    const rate = this.#seconds > 0 ? this.#steps / this.#seconds : undefined;
    const shares = this.#goals.map(({ unit, total }) => (total > 0 ? doneOf(unit, now) / total : 1));
    const nearest = shares.indexOf(Math.max(...shares));
    const goal = this.#goals[nearest];
    if (!goal)
      return { counters, unit: "steps", done: counters.steps, total: undefined, rate, left: undefined };
    const { unit, total } = goal;
    const done = Math.min(total, doneOf(unit, now));
    const pace = (this.#done[nearest] ?? 0) / this.#seconds;
    return { counters, unit, done, total, rate, left: pace > 0 ? (total - done) / pace : undefined };
  }

  #update(now: Position): void {
    const last = this.#last;
    const passed = now.counters.seconds - last.counters.seconds;
    if (!(passed > 0)) return;
    this.#last = now;
    const kept = Math.exp(-passed / memorySeconds);
    this.#seconds = this.#seconds * kept + passed;
    this.#steps = this.#steps * kept + now.counters.steps - last.counters.steps;
    this.#done = this.#goals.map(
      ({ unit }, i) => (this.#done[i] ?? 0) * kept + doneOf(unit, now) - doneOf(unit, last),
    );
  }
}

const positionOf = ({ counters, state }: TrainerContext): Position => ({
  counters,
  epochShare: state.epochShare,
});

const doneOf = (unit: Goal["unit"], { counters, epochShare }: Position): number =>
  unit === "epochs" ? counters.epochs + epochShare : counters[unit];

/** Use of the machine since the last reading. */
export type MachineReading = { readonly [Name in keyof typeof machineMetrics]: number };

/** Reads what the machine does. */
export interface MachineProbe {
  read(): MachineReading;
  /** Frees what it holds. */
  close(): void;
}

/** Milliseconds between checks of the event loop, which belong to no delay. */
const resolution = 20;

/** The machine this process runs on. Until it is closed it holds a timer, which does not keep the process alive. */
export class SystemProbe implements MachineProbe {
  readonly #clock: Clock;
  readonly #delays: IntervalHistogram;
  #at: number;
  #own = process.cpuUsage();
  #machine = processorTimes();

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#at = clock.now();
    this.#delays = node.perfHooks.monitorEventLoopDelay({ resolution });
    this.#delays.enable();
  }

  read(): MachineReading {
    const now = this.#clock.now();
    const own = process.cpuUsage();
    const machine = processorTimes();
    const used = (own.user + own.system - this.#own.user - this.#own.system) / 1000;
    const { rss, heapUsed } = process.memoryUsage();
    const { tensors, bytes } = memory();
    const delays = this.#delays;
    const reading: MachineReading = {
      "cpu.process": share(used, (now - this.#at) * node.os.availableParallelism()),
      "cpu.machine": share(machine.busy - this.#machine.busy, machine.all - this.#machine.all),
      "memory.resident": rss,
      "memory.heap": heapUsed,
      "memory.device": bytes,
      tensors,
      "eventLoop.mean": Math.max(0, milliseconds(delays.mean) - resolution),
      "eventLoop.max": Math.max(0, milliseconds(delays.max) - resolution),
    };
    delays.reset();
    this.#at = now;
    this.#own = own;
    this.#machine = machine;
    return reading;
  }

  close(): void {
    this.#delays.disable();
  }
}

/** Time of all processors together in milliseconds: busy, and in all. */
function processorTimes(): { readonly busy: number; readonly all: number } {
  let busy = 0;
  let all = 0;
  for (const { times } of node.os.cpus()) {
    const sum = times.user + times.nice + times.sys + times.idle + times.irq;
    all += sum;
    busy += sum - times.idle;
  }
  return { busy, all };
}

const share = (part: number, whole: number): number => (whole > 0 ? part / whole : 0);

/** Milliseconds of a count of nanoseconds; 0 where nothing was counted. */
const milliseconds = (nanoseconds: number): number =>
  Number.isFinite(nanoseconds) ? Math.max(0, nanoseconds / 1e6) : 0;
