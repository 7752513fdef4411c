import {
  badOption,
  checkOptions,
  type Options,
  type OptionTable,
  option,
  resolveOptions,
  type Settings,
} from "../../core/index.ts";
import { anyCounters, every, type Schedule } from "../../schedule/index.ts";
import {
  evaluationScores,
  latestCheckpoint,
  latestMetrics,
  type TrainerContext,
  type TrainerEvent,
  type TrainerHook,
} from "../../trainer/index.ts";
import type { Checkpoint } from "../checkpoint.ts";
import type { Json } from "../json.ts";
import type { Allowed, RestoreOptions } from "../restore.ts";
import { checkKeep, type Keep } from "../retention.ts";
import { storeAt } from "../store/address.ts";
import type { CheckpointStore } from "../store/store.ts";
import { CheckpointKeeper } from "./keeper.ts";

/**
 * Saves a run and goes on from what was saved. Before training it restores; at its times it freezes the whole run once
 * all hooks of the event have run, so that nothing another hook did in that event is lost or done twice, and writes it
 * while training goes on; at the end it saves what has come since, also where the run was stopped or interrupted. A
 * write that fails surfaces at the next event, as `onFailure` says.
 *
 * Several such hooks with stores and schedules of their own live together. One is primary: it restores, and provides
 * the slot `latestCheckpoint`; the others have `primary: false`.
 *
 * @example
 * ```ts
 * const checkpoint = checkpointHook({
 *   directory: "runs/mnist",
 *   schedule: every({ epochs: 1 }), // At the end of epochs, where scores have been measured.
 *   keep: { last: 3, best: { metric: "validation/accuracy", k: 1, direction: "max" } },
 *   publish: [{ to: localStore("published"), schedule: every({ epochs: 10 }) }],
 * });
 * await new Trainer({ task, config, hooks: [checkpoint] }).train(); // Killed and started again, it goes on.
 * ```
 */
export function checkpointHook(options: CheckpointHookOptions): TrainerHook {
  const settings = settingsOf(options);
  const { name, schedule, on, primary, publish, onFailure, timeBudget } = settings;
  const keeper = new CheckpointKeeper(settings);
  const ranks = "all";
  const manners = {
    ranks,
    ...(onFailure && { onFailure }),
    ...(timeBudget !== undefined && { timeBudget }),
  } as const;
  const children: readonly TrainerHook[] = [
    {
      name: `${name}.start`,
      // Before all others, so that they find the run where it goes on.
      priority: Number.POSITIVE_INFINITY,
      ranks,
      onTrainingStart: (context) => keeper.start(context),
    },
    { name: `${name}.end`, ...manners, onTrainingEnd: (context) => keeper.end(context) },
  ];
  const hook: TrainerHook & Readonly<Record<symbol, true>> = {
    [mark]: true,
    name,
    schedule,
    ...manners,
    wants: [evaluationScores, latestMetrics],
    ...(primary && { provides: [latestCheckpoint] }),
    ...(publish.length > 0 && { state: keeper.marks }),
    onRegister: (host) => keeper.begin(host),
    onUnregister: () => keeper.close(),
    [on]: (context: TrainerContext) => keeper.save(context),
    children,
  };
  return hook;
}

/** Options of {@link bestCheckpoint}: those of `checkpointHook`, and what is best. */
export interface BestCheckpointOptions extends Omit<CheckpointHookOptions, "keep"> {
  /** The metric in full: `validation/accuracy`, `evaluation/return`, `train/loss`. */
  readonly metric: string;
  readonly direction: "min" | "max";
}

/**
 * Keeps the best checkpoint beside the newest, and no others: `checkpointHook` with
 * `keep: { last: 1, best: { metric, direction, k: 1 } }`. Of equal scores the earlier stays. `manager.best()` gives it.
 *
 * @example
 * ```ts
 * bestCheckpoint({ directory: "runs/mnist", metric: "validation/accuracy", direction: "max" });
 * ```
 */
export function bestCheckpoint({ metric, direction, ...options }: BestCheckpointOptions): TrainerHook {
  return checkpointHook({ ...options, keep: { last: 1, best: { metric, direction, k: 1 } } });
}

/** Known to every copy of this package, and kept where a hook is spread into another. */
const mark: symbol = Symbol.for("espalier.checkpointHook");

/**
 * True for hooks made by `checkpointHook`, primary or not. For tools that bring a checkpoint hook of their own.
 *
 * @example
 * ```ts
 * const others = hooks.filter((hook) => !isCheckpointHook(hook));
 * ```
 */
export const isCheckpointHook = (hook: TrainerHook): boolean => mark in hook;

/** Events after which a run can be saved: those at which work has been done. */
export type SaveEvent = Extract<TrainerEvent, (typeof saveEvents)[number]>;

const saveEvents = [
  "onBatchEnd",
  "onBatchesEnd",
  "onRolloutEnd",
  "onTrainPhaseEnd",
  "onValidationEnd",
  "onEpochEnd",
] as const;

/** Copies saved checkpoints elsewhere. */
export interface Publication {
  /**
   * A store that gets a copy, or its address (`s3://models/published`, a path), or a function that files a checkpoint and
   * gives its address.
   */
  readonly to: string | CheckpointStore | ((checkpoint: Checkpoint) => Promise<string>);
  /** Asked whenever a checkpoint has been saved: due where one of its times lies since the one before. */
  readonly schedule: Schedule;
}

const publicationTable = {
  to: option.either(
    option.text({}),
    option.either(
      option.function<(checkpoint: Checkpoint) => Promise<string>>("a function that files a checkpoint", {}),
      option.object<CheckpointStore>("a store", ["lock"], {}),
      {},
    ),
    { required: true },
  ),
  schedule: option.object<Schedule, { required: true }>("a schedule: every({ epochs: 10 })", ["due"], {
    required: true,
  }),
} satisfies OptionTable<Publication>;

const names = option.list<string>("names of components", {});

const table = {
  /** Default: `checkpoint`. */
  name: option.text({ default: "checkpoint" }),
  /** The place of checkpoints: a store. */
  store: option.object<CheckpointStore>('a store: localStore("runs/mnist")', ["lock"], {}),
  /** The place of checkpoints: a directory, or an address as `s3://bucket/run`. All ranks of a run must see it. */
  directory: option.made<string>(
    'a directory, "runs/mnist", or "." for the current one, or an address, "s3://bucket/run"',
    (value) => typeof value === "string" && value.trim() !== "",
    {},
  ),
  /** Seconds for which ranks wait for each other. Default: 600. */
  patience: option.number({ min: 0 }),
  /** When to save. Default: every epoch. */
  schedule: option.object<Schedule>("a schedule: every({ epochs: 1 })", ["due"], {}),
  /** The event at which it looks. Default: the end of what the schedule counts. */
  on: option.oneOf(saveEvents, {}),
  /** Which checkpoints stay. Default: all. */
  keep: option.object<Keep>("rules: { last: 3 }", [], {}),
  publish: option.list<Publication, { default: readonly Publication[] }>("a list of { to, schedule }", {
    default: [],
  }),
  onStart: option.text({ default: "resume" }),
  mode: option.oneOf(["exact", "warmStart", "warmStartOptimizer"], {}),
  parameters: names,
  optimizer: names,
  allow: option.list<Allowed>('a list of "config", "computedBy", "devices", "hooks" and "stopped"', {}),
  /** Restores, and provides the slot `latestCheckpoint`. One hook does. Default: true. */
  primary: option.flag({ default: true }),
  /** Values of your own for the manifest. */
  metadata: option.made<Json | ((context: TrainerContext) => Json)>("JSON values", () => true, {}),
  /** The effect of a failure to save; a failure to restore always stops the run. Default: "stop". */
  onFailure: option.oneOf(["stop", "warn", "disable"], {}),
  /** Milliseconds for which it may hold the loop; over it warns. */
  timeBudget: option.number({ min: 0 }),
};

type Restoring = "mode" | "parameters" | "optimizer" | "allow";

/** Options of {@link checkpointHook}. */
export interface CheckpointHookOptions
  extends Pick<RestoreOptions, Restoring>,
    Omit<Options<typeof table>, Restoring | "onStart"> {
  /**
   * The start of a run. `resume`, the default, goes on from the newest whole checkpoint of the store, if there
   * is one; where there are some and none is whole, that is an error. `fresh` refuses a store that has checkpoints. A
   * path, or a name in the store, goes on from that one.
   */
  readonly onStart?: "resume" | "fresh" | (string & Record<never, never>);
}

/** A publication whose address has been resolved. */
export interface PublicationSettings extends Publication {
  readonly to: Exclude<Publication["to"], string>;
}

/** The options of a checkpoint hook, checked and completed. */
export interface CheckpointSettings extends Settings<typeof table> {
  readonly store: CheckpointStore;
  readonly publish: readonly PublicationSettings[];
  readonly schedule: Schedule;
  readonly on: SaveEvent;
}

function settingsOf(options: CheckpointHookOptions): CheckpointSettings {
  const kind = "checkpointHook";
  const given = resolveOptions(kind, options, table);
  const { name, directory, onStart, mode = "exact", schedule = every({ epochs: 1 }) } = given;
  if ((given.store === undefined) === (directory === undefined))
    throw badOption(
      kind,
      given.store ? "both store and directory are given" : "it is not said where checkpoints are kept",
      'give one of store and directory: checkpointHook({ directory: "runs/mnist" })',
    );
  if (given.keep) checkKeep(given.keep);
  for (const one of given.publish) checkOptions(`${kind}: publish`, one, publicationTable);
  if (mode !== "exact" && (onStart === "resume" || onStart === "fresh"))
    throw badOption(
      kind,
      `mode is "${mode}" and onStart is "${onStart}"`,
      "name the checkpoint to start from: onStart: a path",
    );
  if (!given.primary && options.onStart !== undefined && onStart !== "fresh")
    throw badOption(
      kind,
      `"${name}" is not primary, and is to restore (onStart: "${onStart}")`,
      "give onStart to the primary checkpoint hook",
    );
  const store = given.store ?? storeAt(directory as string);
  const publish = given.publish.map(({ to, ...rest }) => ({
    ...rest,
    to: typeof to === "string" ? storeAt(to) : to,
  }));
  return { ...given, store, publish, schedule, on: given.on ?? eventOf(schedule) };
}

/**
 * The event at which a schedule is looked at. Epochs are over at the end of an epoch, and a schedule that cannot be
 * foreseen is looked at there too. Seconds are looked at after each call, so that batches stay fused. All other counters
 * move with batches.
 */
function eventOf(schedule: Schedule): SaveEvent {
  const points = schedule.nextDue(anyCounters);
  if (points === undefined || points.some(({ unit }) => unit === "epochs")) return "onEpochEnd";
  return points.some(({ unit }) => unit === "seconds") ? "onBatchesEnd" : "onBatchEnd";
}
