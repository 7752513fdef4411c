import {
  badOption,
  hasMethods,
  type Option,
  type Options,
  option,
  outputPath,
  required,
  resolveOptions,
} from "../../core/index.ts";
import type { EngineChoice } from "../../engine/index.ts";
import type { StatsStore } from "../../metrics/index.ts";
import { anyCounters, every, type Schedule } from "../../schedule/index.ts";
import {
  evaluationScores,
  latestReplay,
  type TrainerContext,
  type TrainerEvent,
  type TrainerHook,
} from "../../trainer/index.ts";
import { checkKnownEverywhere, isPortable } from "../environments/registry.ts";
import { LocalEvaluations } from "./local.ts";
import type { Player } from "./player.ts";
import type { EvaluationQueue } from "./process-queue.ts";
import { type ReplayOptions, replayTable } from "./publish.ts";
import { RemoteEvaluations } from "./remote.ts";
import { checkSuites, type Suites } from "./suites.ts";

/** Events after which a run can be evaluated: those at which work has been done. */
export type EvaluationEvent = Extract<
  TrainerEvent,
  "onBatchEnd" | "onRolloutEnd" | "onTrainPhaseEnd" | "onEpochEnd"
>;

/** Where an evaluation runs. */
export type EvaluationMode = "inline" | "background" | "remote";

const optionTable = {
  player: required(
    option.made<Player>(
      "the task's own: player: task.player",
      (value) =>
        hasMethods((value as Player | null)?.policy, ["step"]) && Array.isArray((value as Player).reads),
      {},
    ),
  ),
  // Checked by `checkSuites`, which knows what to write instead.
  suites: required(option.anything<Suites>("suites by name")),
  schedule: required(option.object<Schedule>("a schedule: every({ epochs: 10 })", ["due"], {})),
  /** Episodes of each suite. Default: 10. */
  episodes: option.integer({ min: 1, default: 10, doc: "Episodes of each suite." }),
  /**
   * `inline`: training waits for it. `background`: in a thread, on the run as it was when it was due, while training
   * goes on. `remote`: evaluators that take jobs from `queue` evaluate the newest published checkpoint. Default:
   * "inline".
   */
  mode: option.oneOf(["inline", "background", "remote"], { default: "inline", doc: "Where it runs." }),
  /** Default: "evaluation". */
  name: option.text({ default: "evaluation" }),
  /** The event at which the schedule is looked at. Default: the end of what it counts, `onEpochEnd` or `onBatchEnd`. */
  on: option.oneOf(["onBatchEnd", "onRolloutEnd", "onTrainPhaseEnd", "onEpochEnd"], {}),
  /** The seed of the episodes, the same in each evaluation. Default: follows from the run's seed. */
  seed: option.integer({ doc: "The seed of the episodes." }),
  /** The policy takes its most likely action, instead of drawing one. Default: true. */
  deterministic: option.flag({ default: true }),
  /** How many environments play at once. Default: 8. */
  vectorCount: option.integer({ min: 1, doc: "How many environments play at once." }),
  /** Where the policy runs. Default: where it is trained; in the background of a GPU's run on wasm. */
  engine: option.text({}) as Option<EngineChoice>,
  /** In the background, if the last evaluation is not done: `wait` for it, or `skip` this one. Default: "wait". */
  whenBusy: option.oneOf(["wait", "skip"], { default: "wait" }),
  /** For `remote`: the queue of jobs, such as `processQueue({ store: "runs/stats.db" })`. */
  queue: option.object<EvaluationQueue>('a queue: processQueue({ store: "runs/stats.db" })', ["submit"], {}),
  /** For `remote`: seconds for which the end of training waits for results. Default: 600. */
  patience: option.number({ min: 0, default: 600, infinite: true }),
  /** A stats store that gets a row for each suite. A `metricsHook` with a stats store files all scores together by itself. */
  store: option.object<StatsStore>("a stats store: await openStatsStore(path)", ["add"], {}),
  /** The run's id or name in the stats store. Default: the training config's name. */
  run: option.text({}),
  /** Files each episode in the stats store, too. Default: false. */
  fileEpisodes: option.flag({ default: false }),
  /**
   * Records the first episodes of each suite, for `espalier replay`. With `remote` the evaluators write them, where the
   * queue's do: the directory is one that all machines share, or an address such as s3://bucket/replays.
   */
  replays: option.group<ReplayOptions>(replayTable, {}),
  /**
   * Provides the slot `evaluationScores`, as one hook does. Others log by themselves if they are inline, and file their
   * results in a stats store otherwise: they cannot log under an earlier step. Default: true.
   */
  primary: option.flag({ default: true }),
  /** Default: "stop"; for `remote` "warn", because an evaluator may end for reasons that are not the run's. */
  onFailure: option.oneOf(["stop", "warn", "disable"], {}),
  /** Milliseconds for which it may hold the loop; above it warns. */
  timeBudget: option.number({ above: 0 }),
};

/** Options of {@link evaluationHook}. */
export interface EvaluationHookOptions extends Options<typeof optionTable> {}

/** Options with their defaults. */
export type EvaluationSettings = ReturnType<typeof settingsOf>;

/**
 * Plays episodes with the policy now and then and reports its scores: in the slot `evaluationScores`, from where
 * metrics, checkpoints and curricula have it, and in a stats store. Scores are `<suite>.return`, `.return.min`,
 * `.return.max`, `.return.deviation`, `.length`, `.positive`, `.episodes`, and without a suite's name those of all
 * episodes together. They are filed under the step of what was evaluated.
 *
 * It draws from a stream of its own and changes nothing of the run: training is the same bit for bit with and without
 * it. The same episodes are played each time, so that evaluations can be compared.
 *
 * Scores that come while training goes on (`background`, `remote`) arrive at no fixed step: a run whose curriculum uses
 * them resumes exactly only with `inline`.
 *
 * @example
 * ```ts
 * const evaluation = evaluationHook({
 *   player: task.player,
 *   suites: { cartpole: { env: "CartPole-v1" } },
 *   episodes: 20,
 *   schedule: every({ epochs: 10 }),
 * });
 * await new Trainer({ task, config, hooks: [evaluation, metricsHook({ logger })] }).train();
 * ```
 */
export function evaluationHook(options: EvaluationHookOptions): TrainerHook {
  const settings = settingsOf(options);
  const { name, schedule, on, mode, primary, replays, onFailure, timeBudget, queue } = settings;
  const common = {
    name,
    schedule,
    onFailure,
    ...(primary && { provides: replays ? [evaluationScores, latestReplay] : [evaluationScores] }),
    ...(timeBudget !== undefined && { timeBudget }),
  };
  if (mode === "remote" && queue) {
    let remote: RemoteEvaluations | undefined;
    const results: TrainerHook = {
      name: `${name}.results`,
      // After every call of the task, so that it never prevents fusing.
      schedule: every({ seconds: 1 }),
      onFailure,
      onBatchesEnd: (context) => remote?.collect(context),
    };
    // At the beginning, where nothing is lost: a queue that cannot be reached then is a mistake.
    const begin: TrainerHook = {
      name: `${name}.begin`,
      onFailure: options.onFailure ?? "stop",
      onTrainingStart: () => queue.begin?.(),
    };
    const end: TrainerHook = {
      name: `${name}.end`,
      onFailure,
      onTrainingEnd: (context) => remote?.end(context),
    };
    return {
      ...common,
      onRegister: (host) => {
        remote = new RemoteEvaluations(settings, queue, host);
      },
      onUnregister: () => remote?.close(),
      [on]: (context: TrainerContext) => remote?.submit(context),
      children: [...(queue.begin ? [begin] : []), results, end],
    };
  }
  const local = new LocalEvaluations(settings);
  if (mode === "inline") return { ...common, [on]: (context: TrainerContext) => local.inline(context) };
  return {
    ...common,
    onUnregister: () => local.close(),
    [on]: (context: TrainerContext) => local.background(context),
  };
}

function settingsOf(options: EvaluationHookOptions) {
  const kind = "evaluationHook";
  const given = resolveOptions(kind, options, optionTable);
  const { schedule, queue, store, replays, mode, primary } = given;
  const suites = checkSuites(kind, given.suites);
  if (mode !== "inline") checkPortable(kind, mode, suites);
  if ((mode === "remote") !== (queue !== undefined))
    throw badOption(
      kind,
      queue ? `a queue is given and mode is "${mode}"` : 'mode is "remote", and there is no queue',
      'write mode: "remote", queue: processQueue({ store: "runs/stats.db" })',
    );
  if (given.fileEpisodes && !store)
    throw badOption(kind, "fileEpisodes is true, and there is no store", "give a stats store: store");
  if (replays && mode === "remote" && !queue?.recordsReplays)
    throw badOption(
      kind,
      "the evaluators of this queue record no replays",
      "leave replays out, or evaluate here",
    );
  if (!primary && mode === "background" && !store && !replays)
    throw badOption(
      kind,
      "it is not primary and runs in the background: its scores would go nowhere",
      "give it a stats store: store",
    );
  return {
    ...given,
    suites,
    replays: replays && replaysOf(replays),
    on: given.on ?? eventOf(schedule),
    onFailure: given.onFailure ?? (mode === "remote" ? "warn" : "stop"),
  };
}

function replaysOf(given: ReplayOptions) {
  const replays = resolveOptions("evaluationHook: replays", given, replayTable);
  return { ...replays, directory: outputPath(replays.directory) };
}

/** Refuses environments that another thread or process cannot make. Names that processes know are not checked. */
function checkPortable(kind: string, mode: EvaluationMode, suites: Suites): void {
  for (const [name, { env }] of Object.entries(suites)) {
    if (!isPortable(env))
      throw badOption(
        kind,
        `the environment of suite "${name}" is a function, which a ${mode} evaluation cannot call`,
        "give the name of a built-in environment, or the file that exports the function: { module: import.meta.url, name }",
      );
    if (mode === "background" && typeof env === "string") checkKnownEverywhere(env);
  }
}

/** Epochs are counted at the end of an epoch, everything else at the end of a batch. */
function eventOf(schedule: Schedule): EvaluationEvent {
  const points = schedule.nextDue(anyCounters);
  return points?.some(({ unit }) => unit === "epochs") ? "onEpochEnd" : "onBatchEnd";
}
