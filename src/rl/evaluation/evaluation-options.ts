import { badOption, checkNames, checkSize, checkWord, shown } from "../../core/index.ts";
import type { EngineChoice } from "../../engine/index.ts";
import type { StatsStore } from "../../metrics/index.ts";
import { noCounters, type Schedule } from "../../schedule/index.ts";
import type { TrainerEvent, TrainerHook } from "../../trainer/index.ts";
import { checkKnownEverywhere, isPortable } from "../environments/registry.ts";
import type { Player } from "./player.ts";
import type { EvaluationQueue } from "./queue.ts";
import { checkReplays, type ReplayOptions } from "./replays.ts";
import { checkSuites, type Suites } from "./suites.ts";

/** Events after which a run can be evaluated: those at which work has been done. */
export type EvaluationEvent = Extract<
  TrainerEvent,
  "onBatchEnd" | "onRolloutEnd" | "onTrainPhaseEnd" | "onEpochEnd"
>;

/** Where an evaluation is done. */
export type EvaluationMode = "inline" | "background" | "remote";

/** Options of {@link evaluationHook}. */
export interface EvaluationHookOptions {
  readonly player: Player;
  readonly suites: Suites;
  readonly schedule: Schedule;
  /** Episodes of each suite. Default 10. */
  readonly episodes?: number;
  /**
   * `inline`, the default: training waits for it. `background`: in a thread, on the run as it was when it was due,
   * while training goes on. `remote`: whoever takes jobs from `queue` evaluates the newest published checkpoint.
   */
  readonly mode?: EvaluationMode;
  /** Default `evaluation`. */
  readonly name?: string;
  /** The event at which it looks. Default: the end of what the schedule counts, `onEpochEnd` or `onBatchEnd`. */
  readonly on?: EvaluationEvent;
  /** Where episodes begin: the same in each evaluation. Default: follows from the run's seed. */
  readonly seed?: number;
  /** Whether the policy does what it finds best, or draws its actions. Default true. */
  readonly deterministic?: boolean;
  /** How many environments play at once. Default 8. */
  readonly vectorCount?: number;
  /** Where the policy runs. Default: where it is trained; in the background of a GPU's run on wasm. */
  readonly engine?: EngineChoice;
  /** In the background, where the one before is not done: `wait` for it, the default, or `skip` this one. */
  readonly whenBusy?: "wait" | "skip";
  /** For `remote`: who evaluates, such as `processQueue({ store: "runs/stats.db" })`. */
  readonly queue?: EvaluationQueue;
  /** For `remote`: seconds for which the end of training waits for results. Default 600. */
  readonly patience?: number;
  /**
   * A stats store that gets a row for each suite. A `metricsHook` with a stats store files all scores together there by
   * itself.
   */
  readonly store?: StatsStore;
  /** The run's id or name in the stats store. Default: the training config's name. */
  readonly run?: string;
  /** Whether each episode is filed in the stats store, too. Default false. */
  readonly fileEpisodes?: boolean;
  /** Records the first episodes of each suite, for `espalier replay`. Not with `remote`. */
  readonly replays?: ReplayOptions;
  /**
   * Whether it provides the slot `evaluationScores`. One hook does. Others log for themselves where they are inline, and
   * file what they find in a stats store otherwise: they have no way to log under an earlier step. Default true.
   */
  readonly primary?: boolean;
  /** Default "stop"; for `remote` "warn", because an evaluator may end for reasons that are not the run's. */
  readonly onFailure?: TrainerHook["onFailure"];
  /** Milliseconds for which it may hold the loop; over it warns. */
  readonly timeBudget?: number;
}

/** The options with everything filled in that has a default. */
export interface EvaluationPlan extends EvaluationHookOptions {
  readonly episodes: number;
  readonly mode: EvaluationMode;
  readonly name: string;
  readonly on: EvaluationEvent;
  readonly deterministic: boolean;
  readonly whenBusy: "wait" | "skip";
  readonly patience: number;
  readonly primary: boolean;
  readonly onFailure: NonNullable<TrainerHook["onFailure"]>;
}

const kind = "evaluationHook";
const names = [
  ...["player", "suites", "schedule", "episodes", "mode", "name", "on", "seed", "deterministic"],
  ...["vectorCount", "engine", "whenBusy", "queue", "patience", "store", "run", "fileEpisodes"],
  ...["replays", "primary", "onFailure", "timeBudget"],
];
const modes: readonly EvaluationMode[] = ["inline", "background", "remote"];

/** Completes and checks what the hook is made with. */
export function planOf(options: EvaluationHookOptions): EvaluationPlan {
  checkNames(kind, options, names);
  const { player, schedule, queue, vectorCount, store, replays } = options;
  if (typeof player?.policy?.step !== "function" || !Array.isArray(player.reads))
    throw badOption(kind, `player is ${shown(player)}`, "give the task's own: player: task.player");
  if (typeof schedule?.due !== "function")
    throw badOption(kind, `schedule is ${shown(schedule)}`, "write every({ epochs: 10 })");
  const suites = checkSuites(kind, options.suites);
  const mode = checkWord(kind, "mode", options.mode ?? "inline", modes);
  if (vectorCount !== undefined) checkSize(kind, "vectorCount", vectorCount);
  if (mode !== "inline") checkPortable(mode, suites);
  if ((mode === "remote") !== (queue !== undefined))
    throw badOption(
      kind,
      queue ? `a queue is given and mode is "${mode}"` : 'mode is "remote", and there is no queue',
      'write mode: "remote", queue: processQueue({ store: "runs/stats.db" })',
    );
  if (options.fileEpisodes && !store)
    throw badOption(kind, "fileEpisodes is true, and there is no store", "give a stats store: store");
  if (replays && mode === "remote")
    throw badOption(kind, "a remote evaluation records no replays", "leave replays out, or evaluate here");
  if (replays) checkReplays(kind, replays);
  if (options.primary === false && mode === "background" && !store && !replays)
    throw badOption(
      kind,
      "it is not primary and runs in the background: nobody would hear of its scores",
      "give it a stats store: store",
    );
  return {
    ...options,
    ...{ suites, mode },
    episodes: checkSize(kind, "episodes", options.episodes ?? 10),
    name: options.name ?? "evaluation",
    on: options.on ?? eventOf(schedule),
    deterministic: options.deterministic ?? true,
    whenBusy: checkWord(kind, "whenBusy", options.whenBusy ?? "wait", ["wait", "skip"]),
    patience: options.patience ?? 600,
    primary: options.primary ?? true,
    onFailure: options.onFailure ?? (mode === "remote" ? "warn" : "stop"),
  };
}

/** Other threads and processes make their environments themselves. What processes know is not for this one to say. */
function checkPortable(mode: EvaluationMode, suites: Suites): void {
  for (const [name, { environment }] of Object.entries(suites)) {
    if (!isPortable(environment))
      throw badOption(
        kind,
        `the environment of suite "${name}" is a function, which a ${mode} evaluation cannot call`,
        "give the name of a built-in environment, or the file that exports the function: { module: import.meta.url, name }",
      );
    if (mode === "background" && typeof environment === "string") checkKnownEverywhere(environment);
  }
}

/** A run before its first batch, of whatever task: counters of its own are 0 too. */
const countsEverything = new Proxy(noCounters, {
  get: (counters, name) => counters[name as string] ?? 0,
});

/** Epochs are over at the end of an epoch; whatever else is counted moves at the end of a batch. */
function eventOf(schedule: Schedule): EvaluationEvent {
  const points = schedule.nextDue(countsEverything);
  return points?.some(({ unit }) => unit === "epochs") ? "onEpochEnd" : "onBatchEnd";
}
