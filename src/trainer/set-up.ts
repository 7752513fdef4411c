import { type Clock, checkNames, EspalierError, printableText, systemClock } from "../core/index.ts";
import { type HookLogger, HookManager } from "../hooks/index.ts";
import { RandomStreams } from "../random/index.ts";
import { checkComponents } from "./components.ts";
import { type TrainingConfig, trainingConfig } from "./config.ts";
import { contextOf } from "./context.ts";
import { Ending } from "./ending.ts";
import { EpochMeans } from "./epoch-means.ts";
import { type TrainerEvents, type TrainerHook, trainerEvents } from "./events.ts";
import { FiniteWatch } from "./finite.ts";
import { NewestMetrics } from "./newest-metrics.ts";
import { RampInputs } from "./ramp-inputs.ts";
import type { Run } from "./run.ts";
import { firstCounters } from "./segments.ts";
import { Progress } from "./state.ts";
import type { Task } from "./task.ts";
import { PhaseClock } from "./timing.ts";

/** What a {@link Trainer} is made with. */
export interface TrainerOptions {
  readonly task: Task;
  /** What is left out has the default that `TrainingConfig` lists. */
  readonly config?: Partial<TrainingConfig>;
  readonly hooks?: readonly TrainerHook[];
  readonly clock?: Clock;
  /** Where values that hooks log go, beside what `metricsHook` does with them. */
  readonly logger?: HookLogger;
  /** Told what does not stop the run. Default: standard error. */
  readonly warn?: (text: string) => void;
}

/**
 * Puts a run together, each part from those before it:
 *
 * 1. config: completed, checked, frozen
 * 2. task: its contract checked
 * 3. random: streams split from the seed
 * 4. progress: counters, place in the epoch, means that ramps follow, newest metrics
 * 5. hooks: the manager, then the task's hooks, then the given ones
 * 6. context: what hooks see of all this
 *
 * `train()` then has the hooks' plan checked, installs signal handlers, lets the task begin, starts the clock and
 * runs `onTrainingStart`, in which a checkpoint may be restored.
 */
export function setUp(options: TrainerOptions): Run {
  checkNames("Trainer", options, ["task", "config", "hooks", "clock", "logger", "warn"]);
  const { clock = systemClock, logger } = options;
  const told = options.warn ?? toStandardError;
  const warn = (text: string): void => told(printableText(text));
  const config = trainingConfig(options.config);
  const task = checkTask(options.task);
  const random = new RandomStreams(config.seed);
  const means = new EpochMeans(task.ramps);
  const metrics = new NewestMetrics();
  const progress = new Progress(firstCounters(task), means, metrics, () => clock.now());
  const hooks = new HookManager<TrainerEvents>({
    events: trainerEvents,
    clock,
    warn,
    trace: config.trace,
    ...(logger && { logger }),
  });
  try {
    for (const hook of [...(task.hooks ?? []), ...(options.hooks ?? [])]) hooks.register(hook);
  } catch (error) {
    hooks.clear(); // Those before it have been set up.
    throw error;
  }
  const parts: Omit<Run, "context"> = {
    task,
    config,
    clock,
    warn,
    random,
    progress,
    ending: new Ending(),
    means,
    metrics,
    ramps: new RampInputs(task.ramps),
    finite: new FiniteWatch(config.onNonFinite, warn),
    phases: new PhaseClock(),
    hooks,
    values: undefined,
    phase: "none",
    repeats: 0,
    ahead: 0,
    ended: false,
  };
  const run = parts as Run & { context: Run["context"] };
  run.context = contextOf(run);
  // Hooks that come after the one that restores see where the run is.
  progress.moved = () => {
    run.context.counters = progress.counters;
  };
  return run;
}

function checkTask(task: Task): Task {
  for (const name of ["epoch", "run", "snapshot"] as const)
    if (typeof task?.[name] !== "function")
      throw new EspalierError("TASK_INVALID", `the task has no function "${name}"`, {
        fix: "give a task such as supervisedTask({ ... }), or write one with epoch, run and snapshot",
      });
  if (!["updates", "samples", "batches"].includes(task.stepUnit))
    throw new EspalierError("TASK_INVALID", `the task's stepUnit is "${task.stepUnit}"`, {
      fix: 'write "updates", "samples" or "batches"',
    });
  checkComponents(task);
  return task;
}

function toStandardError(text: string): void {
  process.stderr.write(`${text}\n`);
}
