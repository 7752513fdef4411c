import { didYouMean, EspalierError, shown } from "../../core/index.ts";
import { every, noCounters, type Schedule } from "../../schedule/index.ts";
import type { TrainerContext, TrainerEvent, TrainerHook } from "../../trainer/index.ts";
import type { Json } from "../component/index.ts";
import { type Checkpoint, CheckpointManager, type Keep, type RestoreOptions } from "../manager/index.ts";
import { type CheckpointStore, localStore } from "../store/index.ts";

/** Events after which a run can be saved: those at which work has been done. */
export type SaveEvent = Extract<
  TrainerEvent,
  "onBatchEnd" | "onBatchesEnd" | "onRolloutEnd" | "onTrainPhaseEnd" | "onValidationEnd" | "onEpochEnd"
>;

/** Files saved checkpoints elsewhere. */
export interface Publication {
  /** A store that gets a copy, or a function that files a checkpoint and gives its address. */
  readonly to: CheckpointStore | ((checkpoint: Checkpoint) => Promise<string>);
  /** Asked whenever a checkpoint has been saved: due where one of its times lies since the one before. */
  readonly schedule: Schedule;
}

/** Options of {@link checkpointHook}. */
export interface CheckpointHookOptions
  extends Pick<RestoreOptions, "mode" | "parameters" | "optimizer" | "allow"> {
  /** Default `checkpoint`. */
  readonly name?: string;
  /** Where checkpoints are kept: a store, or a directory. Runs of several ranks need a directory that all see. */
  readonly store?: CheckpointStore;
  readonly directory?: string;
  /** Seconds for which ranks wait for each other. Default 600. */
  readonly patience?: number;
  /** When to save. Default every epoch. */
  readonly schedule?: Schedule;
  /** The event at which it looks. Default: the end of what the schedule counts. */
  readonly on?: SaveEvent;
  /** Which checkpoints stay. Default all. */
  readonly keep?: Keep;
  readonly publish?: readonly Publication[];
  /**
   * What happens before training. `resume`, the default: goes on from the newest whole checkpoint of the store, if
   * there is one; where there are some and none is whole, that is an error. `fresh`: begins anew, and refuses a store that has checkpoints. A path, or a name in the store: goes
   * on from that one.
   */
  readonly onStart?: "resume" | "fresh" | (string & Record<never, never>);
  /** Whether it restores and provides the slot `latestCheckpoint`. One hook does. Default true. */
  readonly primary?: boolean;
  /** What else is to be found in the manifest. */
  readonly metadata?: Json | ((context: TrainerContext) => Json);
  /** What a failure to save is; one to restore always stops the run. Default "stop". */
  readonly onFailure?: TrainerHook["onFailure"];
  /** Milliseconds for which it may hold the loop; over it warns. */
  readonly timeBudget?: number;
}

/** The options with everything filled in that has a default. */
export interface CheckpointPlan extends Omit<CheckpointHookOptions, "on"> {
  readonly name: string;
  readonly store: CheckpointStore;
  readonly schedule: Schedule;
  readonly on: SaveEvent;
  readonly publish: readonly Publication[];
  readonly onStart: string;
  readonly primary: boolean;
}

const known: Readonly<Record<keyof CheckpointHookOptions, true>> = {
  name: true,
  store: true,
  directory: true,
  patience: true,
  schedule: true,
  on: true,
  keep: true,
  publish: true,
  onStart: true,
  mode: true,
  parameters: true,
  optimizer: true,
  allow: true,
  primary: true,
  metadata: true,
  onFailure: true,
  timeBudget: true,
};

/** Completes and checks what the hook is made with. */
export function planOf(options: CheckpointHookOptions): CheckpointPlan {
  for (const name of Object.keys(options))
    if (!Object.hasOwn(known, name))
      throw invalid(
        `there is no option "${name}"${didYouMean(name, Object.keys(known))}`,
        `the options are ${Object.keys(known).join(", ")}`,
      );
  const { on, ...rest } = options;
  const { directory } = rest;
  const { name = "checkpoint", schedule = every({ epochs: 1 }), publish = [], primary = true, mode } = rest;
  const { onStart = "resume" } = rest;
  if ((rest.store === undefined) === (directory === undefined))
    throw invalid(
      rest.store ? "both store and directory are given" : "it is not said where checkpoints are kept",
      'give one of store and directory: checkpointHook({ directory: "runs/mnist" })',
    );
  if (directory !== undefined && (typeof directory !== "string" || directory.trim() === ""))
    throw invalid(`directory is ${shown(directory)}`, 'name one: "runs/mnist", or "." for the one at work');
  if (typeof onStart !== "string" || onStart === "")
    throw invalid(`onStart is ${shown(onStart)}`, 'write "resume", "fresh", a name or a path');
  const store = rest.store ?? localStore(directory as string);
  new CheckpointManager({ store, ...(rest.keep && { keep: rest.keep }) }); // Refuses rules that make no sense.
  const isPath = onStart !== "resume" && onStart !== "fresh";
  if (mode !== undefined && !["exact", "warmStart", "warmStartOptimizer"].includes(mode))
    throw invalid(`mode is "${mode}"`, 'write "exact", "warmStart" or "warmStartOptimizer"');
  if (mode !== undefined && mode !== "exact" && !isPath)
    throw invalid(
      `mode is "${mode}" and onStart is "${onStart}"`,
      "name the checkpoint to start from: onStart: a path",
    );
  if (!primary && rest.onStart !== undefined && onStart !== "fresh")
    throw invalid(
      `"${name}" is not primary, and is to restore (onStart: "${onStart}")`,
      "give onStart to the primary checkpoint hook",
    );
  return { ...rest, name, store, schedule, publish, primary, onStart, on: on ?? eventOf(schedule) };
}

/**
 * Epochs are over at the end of an epoch, and what cannot be foreseen is looked at there too. Seconds are looked at
 * after each call: there nobody watches batches, so that they stay fused. Whatever else is counted moves with batches.
 */
function eventOf(schedule: Schedule): SaveEvent {
  const points = schedule.nextDue(countsEverything);
  if (points === undefined || points.some(({ unit }) => unit === "epochs")) return "onEpochEnd";
  return points.some(({ unit }) => unit === "seconds") ? "onBatchesEnd" : "onBatchEnd";
}

/** A run before its first batch, of whatever task: counters of its own are 0 too. */
const countsEverything = new Proxy(noCounters, {
  get: (counters, name) => counters[name as string] ?? 0,
});

const invalid = (what: string, fix: string): EspalierError =>
  new EspalierError("OPTION_INVALID", `checkpointHook: ${what}`, { fix });
