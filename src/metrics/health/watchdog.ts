import {
  badOption,
  makeDirectory,
  messageOf,
  node,
  type Options,
  option,
  outputPath,
  resolveOptions,
} from "../../core/index.ts";
import { startThread } from "../../engine/index.ts";
import type { Counters } from "../../schedule/index.ts";
import {
  latestPause,
  type PauseRecord,
  type TrainerContext,
  type TrainerEvent,
  type TrainerHook,
  trainerEvents,
} from "../../trainer/index.ts";
import type { WatchData, WatchdogReport } from "./watchdog-thread.ts";

// A watchdog notices that the main thread hangs, from a thread of its own:
//
//   main thread (this file)                          watching thread (watchdog-thread.ts)
//     a hook before and a hook after all others        every few milliseconds:
//     mark on the board what the run does        ->    is the mark the same for longer than its deadline?
//     (a few stores into shared memory)                look at the main thread through the inspector
//                                                      write the report; end the process, where that is asked for

/** A phase that can have a deadline. */
export type WatchedPhase = "rollout" | "train" | "validation" | "hook" | "any";

const seconds = option.number({ above: 0 });
const table = {
  /** Default: `watchdog`. */
  name: option.text({ default: "watchdog" }),
  /**
   * In seconds: how long one call of the task may take that gathers experience or trains, one validation, the hooks of
   * one event together. `any`: how long any of these without a deadline of its own may, and all that lies between.
   */
  deadlines: option.group<{ readonly [P in WatchedPhase]?: number }, { readonly required: true }>(
    { rollout: seconds, train: seconds, validation: seconds, hook: seconds, any: seconds },
    { required: true },
  ),
  /**
   * The reaction when one is exceeded, beside the report. `exit` ends the process, whatever the main thread does: with
   * code 124, or 137 where it is in native code. A function gets the report when the main thread is free to call it.
   * Default: `report`, nothing else.
   */
  onExceeded: option.either(
    option.oneOf(["report", "exit"], {}),
    option.function<(report: WatchdogReport) => void>("a function", {}),
    { default: "report" },
  ),
  /** A file to which reports are added. They always go to standard error. */
  file: option.text({}),
};

/** Options of {@link watchdogHook}. */
export interface WatchdogOptions extends Options<typeof table> {}

/**
 * Watches how long a run's phases take, from a thread of its own, and reports the one that exceeds its deadline with
 * the stack of what the main thread runs: in the middle of an endless loop, and of a call that never comes back. With
 * `exit` it ends the process, so that a supervisor can start it again from its last checkpoint.
 *
 * - A thread that hangs in JavaScript or waits is asked to exit with code 124, and runs its exit handlers; where these
 *   hang too, it exits without them. One that hangs in native code does not answer: it is ended by SIGKILL, with which
 *   the code is 137.
 * - `any` and `validation` cost nothing. To tell rollouts, batches and hooks apart (`rollout`, `train`, `hook`) their
 *   events are watched, so that calls of the task do not go on over the end of a rollout or an epoch.
 * - Hooks at single batches count as training; `hook` is about all hooks of one event together.
 * - It goes by events. Take it out by `unregisterHook`, not by `disable`: a run that it does not hear of hangs.
 *
 * @example
 * ```ts
 * const hooks = [watchdogHook({ deadlines: { any: 600 }, onExceeded: "exit", file: "runs/mnist/watchdog.txt" })];
 * ```
 */
export function watchdogHook(options: WatchdogOptions): TrainerHook {
  const settings = settingsOf(options);
  const { name } = settings;
  const board = new Board();
  let warn: (text: string) => void = () => undefined;
  let stop: (() => Promise<unknown>) | undefined;
  const start = ({ state }: TrainerContext): void => {
    if (stop) return;
    try {
      stop = startWatching(settings, board, state.run, (text) => warn(text));
    } catch (cause) {
      warn(`nothing watches: ${messageOf(cause)}`);
    }
  };
  return {
    name,
    children: markers(settings, {
      mark: (phase, event, counters) => board.mark(phase, event, counters),
      start,
    }),
    onRegister: (host) => {
      warn = (text) => host.warn(`${name}: ${text}`);
      // A run that somebody has paused does not hang.
      host.observe({
        provided: (slot, value) => {
          if (slot.name !== latestPause.name) return;
          const { paused, counters } = value as PauseRecord;
          board.mark(paused ? "off" : "other", "onBatchEnd", counters);
        },
      });
    },
    onUnregister: async () => {
      const ending = stop?.();
      stop = undefined;
      await ending;
    },
  };
}

/** Checks the options and fills in defaults. */
export function settingsOf(options: WatchdogOptions) {
  const { onExceeded, ...settings } = resolveOptions("watchdogHook", options, table);
  const watched = Object.entries(settings.deadlines).filter(([, deadline]) => deadline !== undefined);
  if (watched.length === 0)
    throw badOption("watchdogHook", "there is no deadline", "give { any: 600 }; or leave the hook out");
  return {
    ...settings,
    file: settings.file && outputPath(settings.file),
    exit: onExceeded === "exit",
    onReport: typeof onExceeded === "function" ? onExceeded : undefined,
    /** Rollouts, batches and hooks must be told apart. */
    phases: watched.some(([phase]) => phase === "rollout" || phase === "train" || phase === "hook"),
  };
}
type WatchdogSettings = ReturnType<typeof settingsOf>;

/** Phases of the main thread. `off`: nothing that is watched. `other`: what lies between. */
export const phases = ["off", "rollout", "train", "validation", "hook", "other"] as const;
export type BoardPhase = (typeof phases)[number];

/** Indices on the board. */
export const places = { beats: 0, phase: 1, event: 2, epoch: 3, updates: 4, size: 5 } as const;

/** Memory in which the main thread notes what it does, and which the watching thread sees too. */
export class Board {
  readonly shared = new Int32Array(new SharedArrayBuffer(places.size * Int32Array.BYTES_PER_ELEMENT));

  mark(phase: BoardPhase, event: TrainerEvent, { epoch, updates }: Counters): void {
    const { shared } = this;
    shared[places.phase] = phases.indexOf(phase);
    shared[places.event] = trainerEvents.indexOf(event);
    shared[places.epoch] = epoch;
    shared[places.updates] = updates;
    // Last, and seen in this order by the other thread.
    Atomics.add(shared, places.beats, 1);
  }
}

/** Starts the thread that watches. Gives a function that ends it. */
function startWatching(
  { deadlines, exit, file, onReport }: WatchdogSettings,
  board: Board,
  run: string,
  warn: (text: string) => void,
): () => Promise<unknown> {
  const { isMainThread } = node.workerThreads;
  try {
    // Now, because the thread has nothing of ours, and Node's own way hangs in some places.
    if (file !== undefined) makeDirectory(node.path.dirname(file));
  } catch (cause) {
    warn(`reports cannot be added to ${file}: ${messageOf(cause)}`);
  }
  const data: WatchData = {
    board: board.shared,
    places,
    phases,
    deadlines: phases.map((phase) => {
      if (phase === "off") return undefined;
      return phase === "other" ? deadlines.any : (deadlines[phase] ?? deadlines.any);
    }),
    events: trainerEvents,
    exit,
    run,
    pid: process.pid,
    file,
    isMain: isMainThread,
  };
  const worker = startThread("metrics/health/watchdog-thread", { name: "espalier-watchdog", data });
  worker.on("message", (report: WatchdogReport) => {
    try {
      onReport?.(report);
    } catch (cause) {
      warn(`onExceeded failed: ${messageOf(cause)}`);
    }
  });
  worker.on("error", (error) => warn(`nothing watches any more: ${(error as Error).message}`));
  return () => worker.terminate();
}

/** Events whose handling does not keep batches from being fused. */
const free = [
  "onTrainingStart",
  "onBatchesEnd",
  "onValidationStart",
  "onValidationEnd",
  "onError",
  "onTrainingEnd",
] as const;
/** Those that tell rollouts, batches and hooks apart. Never onBatchStart and onBatchEnd: batches stay fused. */
const telling = ["onEpochStart", "onRolloutStart", "onRolloutEnd", "onTrainPhaseEnd", "onEpochEnd"] as const;

/** Two hooks that mark what the run does: one before all others of an event, one after them. */
export function markers(
  { name, phases }: WatchdogSettings,
  {
    mark,
    start,
  }: {
    readonly mark: Board["mark"];
    /** Called before each first mark of an event. */
    start(context: TrainerContext): void;
  },
): readonly TrainerHook[] {
  const begin = (context: TrainerContext): void => {
    start(context);
    mark("hook", context.event as TrainerEvent, context.counters);
  };
  const end = (context: TrainerContext): void => {
    const event = context.event as TrainerEvent;
    mark(phaseAfter(event, context, phases), event, context.counters);
  };
  const events: readonly TrainerEvent[] = phases ? [...free, ...telling] : free;
  const handlers = (handler: (context: TrainerContext) => void): Partial<TrainerHook> =>
    Object.fromEntries(events.map((event) => [event, handler]));
  const ranks = "all";
  return [
    { name: `${name}.begin`, ranks, priority: Number.POSITIVE_INFINITY, ...handlers(begin) },
    { name: `${name}.end`, ranks, priority: Number.NEGATIVE_INFINITY, ...handlers(end) },
  ];
}

/** The phase after all hooks of an event have run. */
function phaseAfter(event: TrainerEvent, { state }: TrainerContext, phases: boolean): BoardPhase {
  if (event === "onTrainingEnd") return "off";
  if (event === "onValidationStart") return "validation";
  if (!phases) return "other";
  if (event === "onRolloutStart") return "rollout";
  if (event === "onEpochStart" || event === "onRolloutEnd") return "train";
  // A rollout may take several calls; a batch is followed by another, until its phase ends.
  if (event === "onBatchesEnd") return state.phase === "rollout" ? "rollout" : "train";
  return "other";
}
