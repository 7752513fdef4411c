import type { Json } from "../../checkpoint/index.ts";
import {
  type Clock,
  EspalierError,
  hasMethods,
  type OptionRows,
  type Options,
  option,
  outputPath,
  resolveOptions,
  type Settings,
} from "../../core/index.ts";
import type { HookHost } from "../../hooks/index.ts";
import { every, hasBegun } from "../../schedule/index.ts";
import type { Stateful, StateTree } from "../../state/index.ts";
import {
  evaluationScores,
  latestMetrics,
  type TrainerContext,
  type TrainerHook,
} from "../../trainer/index.ts";
import { type GradientMonitorOptions, gradientMonitor } from "../health/gradient-monitor.ts";
import { beating, checkPlaces, type Heartbeat, heartbeat } from "../health/heartbeat.ts";
import type { Logger } from "../logger/logger.ts";
import { scheduleOption } from "../sinks/sink.ts";
import type { StatsStore } from "../store/stats-store.ts";
import { goalsOf, type MachineProbe } from "./meters.ts";
import { newRunId, RunRecorder } from "./run-recorder.ts";
import { StoreRecorder } from "./store-recorder.ts";

/*
 * The hook's work, by event:
 *
 *   onRegister          makes the logger, and adds the stats store to it as a sink
 *   onTrainingStart     opens the run: its id, settings, and where it was resumed
 *   onBatchesEnd        logs metrics of batches and rollouts, still on the device; shows progress; fills latestMetrics
 *   onValidationEnd     logs validation
 *   a slot is filled    logs evaluation; records evaluations, checkpoints and replays in the stats store
 *   every 10 seconds    logs time and system
 *   every 30 seconds    beats
 *   onUnregister        logs what is left and closes the logger, however the run ended
 *
 * metrics-hook.ts (options, lifecycle, state) -> run-recorder.ts -> ../logger/logger.ts
 *                                                              `-> store-recorder.ts
 */

/** Options of a part that is measured from time to time. */
const lookOptions = {
  /** Asked after every call of the task, so that it never prevents fusing. Default: every 10 seconds. */
  schedule: scheduleOption("every({ seconds: 10 })"),
};
const systemOptions = {
  ...lookOptions,
  probe: option.function<() => MachineProbe>("a function that makes a probe", {}),
};
const heartbeatOptions = { ...lookOptions, file: option.text({}) };

/** A part that is on, off, or has options of its own: these are checked by `partOf`. */
const part = <T extends OptionRows>(example: string) =>
  option.made<boolean | Options<T>>(
    `true, false or ${example}`,
    (value) => typeof value === "boolean" || hasMethods(value, []),
    {},
  );

const runOptions = {
  id: option.made<string>(
    "a text of letters, digits, - and _ only",
    (value) => typeof value === "string" && /^[\w-]+$/.test(value),
    {},
  ),
  name: option.text({}),
  labels: option.object<{ readonly [name: string]: Json }>("an object of JSON values", [], {}),
  continues: option.flag({}),
};
type RunNames = Options<typeof runOptions>;

const hookOptions = {
  /** Gets everything; a function where the hook serves several runs, because a logger is closed with its run. */
  logger: option.made<Logger | (() => Logger), { readonly required: true }>(
    "new Logger({ sinks: [consoleSink()] }), or a function that makes one",
    (value) => typeof value === "function" || hasMethods(value, ["as"]),
    { required: true },
  ),
  /**
   * Gets the metrics, by a sink that is added to the logger, and beside them evaluations, checkpoints, replays, timings
   * and decisions of hooks, and how the run ended.
   */
  statsStore: option.object<StatsStore>("an opened stats store", ["add"], {}),
  /** Default: `metrics`. */
  name: option.text({ default: "metrics" }),
  /**
   * The run. Default: a new id, kept by resumed runs, and the name of the training config. Labels are filed beside its
   * settings, by their names. One that `continues` the run of its id may do so from the
   * beginning, where that one ended before its first checkpoint.
   */
  run: option.group<RunNames, { readonly default: RunNames }>(runOptions, { default: {} }),
  /** Logs metrics of every batch and rollout, and the ramps in use. Default: true. */
  batches: option.flag({ default: true }),
  /** Watches gradients: a `gradientMonitor` with these options comes with this hook. Default: false. */
  gradients: option.made<boolean | GradientMonitorOptions>(
    "true, false or options of gradientMonitor",
    (value) => typeof value === "boolean" || hasMethods(value, []),
    {},
  ),
  /** Logs processors, memory, event loop, device memory. Default: true. */
  system: part<typeof systemOptions>("{ schedule: every({ seconds: 10 }) }"),
  /** Logs throughput, and how much of the time each phase and each hook takes. Default: true. */
  timing: part<typeof lookOptions>("{ schedule: every({ seconds: 10 }) }"),
  /** Shows how far the run is, in sinks that show it. Default: true. */
  progress: option.flag({ default: true }),
  /**
   * Says that the run is alive, by a file, by rows in the stats store, or both. Default: true with a stats store, every
   * 30 seconds.
   */
  heartbeat: part<typeof heartbeatOptions>('{ file: "heartbeat.json" }'),
  /** Fills the slot `latestMetrics`; of several hooks one does. Default: true. */
  primary: option.flag({ default: true }),
};

/** Options of {@link metricsHook}. */
export interface MetricsHookOptions extends Options<typeof hookOptions> {}

/** The options with defaults. Parts that are undefined are off. */
export type MetricsHookSettings = ReturnType<typeof settingsOf>;

/**
 * Logs everything that is to be known of a run through one logger. What hooks log by their contexts goes there, each in
 * its own name; metrics of every batch under `train` and of every rollout under `rollout`, those of validation under
 * `validation`, scores of evaluation under `evaluation`, the machine under `system`, throughput and where the time goes
 * under `time`. It shows progress, says that the run is alive, and fills the slot `latestMetrics`. At the end, however
 * it comes, everything is written and the logger is closed.
 *
 * It watches no batch and no epoch: metrics of a whole call are taken unread, and what other hooks share is heard of
 * when they provide it. So it never prevents fusing, and never waits for the device.
 * A resumed run keeps its id, and its windows go on where they were.
 *
 * @example
 * ```ts
 * const logger = new Logger({ sinks: [consoleSink(), tensorBoardSink("runs/mnist")] });
 * const metrics = metricsHook({ logger, statsStore: await openStatsStore("runs/stats.db"), gradients: true });
 * await new Trainer({ task, config, hooks: [metrics, checkpointHook({ directory: "runs/mnist" })] }).train();
 * ```
 */
export function metricsHook(options: MetricsHookOptions): TrainerHook {
  const settings = settingsOf(options);
  const { name, timing, system, heartbeat, gradients, primary } = settings;
  const lifecycle = new Lifecycle(settings);
  const running =
    (act: (run: RunRecorder, context: TrainerContext) => unknown) =>
    (context: TrainerContext): unknown =>
      lifecycle.run && act(lifecycle.run, context);

  const beats =
    heartbeat &&
    beating(`${name}.heartbeat`, heartbeat.schedule, ({ clock }, warn) =>
      lifecycle.heartbeat(clock, warn, heartbeat.file),
    );
  const children: TrainerHook[] = [
    {
      name: `${name}.time`,
      // Before all others but those that restore, so that everything that they log is heard.
      priority: Number.MAX_VALUE,
      state: lifecycle.time,
      onTrainingStart: (context) => {
        lifecycle.start(context);
        beats?.beat(context);
      },
    },
  ];
  if (timing)
    children.push({
      name: `${name}.pace`,
      schedule: timing.schedule ?? every({ seconds: 10 }),
      onBatchesEnd: running((run, context) => run.time(context)),
    });
  if (system)
    children.push({
      name: `${name}.system`,
      schedule: system.schedule ?? every({ seconds: 10 }),
      onBatchesEnd: running((run, context) => run.machine(context)),
    });
  if (beats) children.push(beats.hook);
  if (gradients) children.push(gradientMonitor(gradients));
  return {
    name,
    wants: [evaluationScores],
    provides: primary ? [latestMetrics] : [],
    state: lifecycle.state,
    onRegister: (host) => lifecycle.begin(host),
    onUnregister: async () => {
      await beats?.end();
      await lifecycle.end();
    },
    onBatchesEnd: running((run, context) => run.batches(context)),
    onValidationEnd: running((run, context) => run.validated(context)),
    children,
  };
}

/** The logger and the stats store of a run, from its set-up to its end. One run at a time. */
class Lifecycle {
  /** Set while a run trains. */
  run: RunRecorder | undefined;
  readonly #settings: MetricsHookSettings;
  /** Set when the hook is registered. */
  #setUp:
    | { readonly host: HookHost; readonly logger: Logger; readonly store: StoreRecorder | undefined }
    | undefined;
  #id: string | undefined;

  constructor(settings: MetricsHookSettings) {
    this.#settings = settings;
  }

  /** A run is set up; the one before, if there was one, is over. */
  begin(host: HookHost): void {
    const { makeLogger, statsStore } = this.#settings;
    const logger = makeLogger();
    checkOpen(logger);
    const store = statsStore && new StoreRecorder(statsStore, host.clock);
    this.#setUp = { host, logger, store };
    this.#id = undefined;
    this.run = undefined;
    store?.addTo(logger);
  }

  /** Training begins, or goes on: counters and states have been restored. */
  start(context: TrainerContext): void {
    if (!this.#setUp) return;
    const { host, logger, store } = this.#setUp;
    checkOpen(logger);
    const { name, run } = this.#settings;
    const { clock, counters, settings: config, state } = context;
    // Not before: on ranks that are not the main one nothing is logged.
    host.installLogger(logger);
    const runName = run.name ?? state.run;
    const id = run.id ?? this.#id ?? newRunId(runName, clock.wall());
    this.#id = id;
    const limits = Object.fromEntries(goalsOf(context.config).map(({ unit, total }) => [unit, total]));
    const info = {
      id,
      name: runName,
      startedAt: clock.wall(),
      config: { ...config, ...run.labels },
      limits,
      ...(run.continues && { continues: true }),
    };
    logger.open(hasBegun(counters) ? { ...info, resumedAt: counters } : info);
    const warn = (text: string): void => host.warn(`${name}: ${text}`);
    const recorder = new RunRecorder({ settings: this.#settings, logger, store, warn, context });
    this.run = recorder;
    host.observe({
      provided: (slot, value) => recorder.provided(slot, value),
      ...(store && {
        decided: (decision) => store.decisions.note(decision),
        switched: (hook, enabled) => store.intervened(context, hook, enabled ? "enabled" : "disabled"),
      }),
    });
  }

  heartbeat(clock: Clock, warn: (text: string) => void, file: string | undefined): Heartbeat | undefined {
    const statsStore = this.#setUp?.store?.heartbeats;
    return this.run && heartbeat({ file, statsStore, run: this.#id ?? "", clock, warn });
  }

  /** However the run ended: everything is written. Does nothing where it never began, as on other ranks. */
  async end(): Promise<void> {
    const { run } = this;
    this.run = undefined;
    await run?.end();
  }

  /** State that every run with these bits has at this step: open windows. */
  readonly state: Stateful = {
    getState: () => withLogger({}, this.#setUp?.logger.getState()),
    setState: (state) => this.#setUp?.logger.setState(statesIn(state).logger),
  };

  /** State that differs from run to run: the id, open windows of times, decisions that are not complete. */
  readonly time: Stateful = {
    getState: () => {
      const decisions = this.#setUp?.store?.decisions.getState() ?? null;
      return withLogger({ id: this.#id ?? null, decisions }, this.#setUp?.logger.time.getState());
    },
    setState: async (state) => {
      const { logger, id, decisions = null } = statesIn(state);
      this.#id = typeof id === "string" ? id : undefined;
      if (decisions !== null) this.#setUp?.store?.decisions.setState(decisions);
      await this.#setUp?.logger.time.setState(logger);
    },
  };
}

/** Refuses a logger that has served a run: what it is given then is lost. */
function checkOpen(logger: Logger): void {
  if (!logger.closed) return;
  throw new EspalierError("LOGGER_CLOSED", "its logger was closed with the run before", {
    fix: "let it make one for each run: metricsHook({ logger: () => new Logger({ ... }) })",
  });
}

type StateRecord = { readonly [name: string]: StateTree };

function withLogger(
  own: StateRecord,
  logger: StateTree | Promise<StateTree> | undefined = null,
): StateTree | Promise<StateTree> {
  if (logger instanceof Promise) return logger.then((settled) => ({ ...own, logger: settled }));
  return { ...own, logger };
}

function statesIn(state: StateTree): StateRecord & { readonly logger: StateTree } {
  const { logger, ...others } = (state ?? {}) as StateRecord;
  if (logger !== undefined && logger !== null) return { ...others, logger };
  throw new EspalierError("STATE_INVALID", "this is not the state of a metrics hook", {
    fix: "restore what the same component of a run with a metrics hook gave",
  });
}

const kind = "metricsHook";

/** Checks the options and fills in defaults. */
function settingsOf(options: MetricsHookOptions) {
  const { logger, gradients, ...settings } = resolveOptions(kind, options, hookOptions);
  const heartbeat = partOf(
    "heartbeat",
    settings.heartbeat ?? settings.statsStore !== undefined,
    heartbeatOptions,
  );
  if (heartbeat) checkPlaces(`${kind}: heartbeat`, { file: heartbeat.file, statsStore: settings.statsStore });
  return {
    ...settings,
    makeLogger: typeof logger === "function" ? logger : () => logger,
    gradients: gradients === true ? {} : gradients || undefined,
    system: partOf("system", settings.system ?? true, systemOptions),
    timing: partOf("timing", settings.timing ?? true, lookOptions),
    heartbeat: heartbeat && { ...heartbeat, file: heartbeat.file && outputPath(heartbeat.file) },
  };
}

/** The checked options of a part; undefined where it is off. */
function partOf<T extends OptionRows>(
  name: string,
  given: boolean | Options<T>,
  table: T,
): Settings<T> | undefined {
  return given === false ? undefined : resolveOptions(`${kind}: ${name}`, given === true ? {} : given, table);
}
