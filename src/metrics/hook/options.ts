import { badOption, checkNames, shown } from "../../core/index.ts";
import { every, type Schedule } from "../../schedule/index.ts";
import type { GradientMonitorOptions } from "../health/gradient-monitor.ts";
import { checkPlaces } from "../health/heartbeat.ts";
import type { Logger } from "../logger/index.ts";
import type { StatsStore } from "../store/stats-store.ts";
import type { MachineProbe } from "./machine.ts";

/** A part that looks now and then. */
export interface LookOptions {
  /** Asked after every call of the task, so that it never prevents fusing. Default every 10 seconds. */
  readonly schedule?: Schedule;
}

/** Options of {@link metricsHook}. */
export interface MetricsHookOptions {
  /** Where everything goes; a function where the hook serves several runs, because a logger is closed with its run. */
  readonly logger: Logger | (() => Logger);
  /**
   * A stats store that gets the metrics, by a sink that is added to the logger unless it has one of that name, and
   * beside them evaluations, checkpoints, replays, timings and decisions of hooks, and how the run ended.
   */
  readonly statsStore?: StatsStore;
  /** Default `metrics`. */
  readonly name?: string;
  /** What the run is called. Default: a new id, kept by resumed runs, and the training config's name. */
  readonly run?: { readonly id?: string; readonly name?: string };
  /** Values of every batch and rollout, and of the ramps in use. Default true. */
  readonly batches?: boolean;
  /** Watches gradients: a `gradientMonitor` with these options comes with this hook. Default false. */
  readonly gradients?: boolean | GradientMonitorOptions;
  /** What the machine does: processors, memory, event loop, device memory. Default true. */
  readonly system?: boolean | (LookOptions & { readonly probe?: () => MachineProbe });
  /** Throughput, and how much of the time each phase and each hook takes. Default true. */
  readonly timing?: boolean | LookOptions;
  /** How far the run is, for sinks that show it. Default true. */
  readonly progress?: boolean;
  /**
   * Says that the run is alive, by a file, by rows in the stats store, or both. Default: true with a stats store, every
   * 30 seconds.
   */
  readonly heartbeat?: boolean | (LookOptions & { readonly file?: string });
  /** Whether it provides the slot `latestMetrics`; of several hooks one does. Default true. */
  readonly primary?: boolean;
}

/** The options with everything filled in that has a default. What is undefined is off. */
export interface MetricsPlan {
  readonly makeLogger: () => Logger;
  readonly statsStore: StatsStore | undefined;
  readonly name: string;
  readonly run: { readonly id?: string; readonly name?: string };
  readonly batches: boolean;
  readonly gradients: GradientMonitorOptions | undefined;
  readonly system: { readonly schedule: Schedule; readonly probe?: () => MachineProbe } | undefined;
  readonly timing: { readonly schedule: Schedule } | undefined;
  readonly progress: boolean;
  readonly primary: boolean;
  readonly heartbeat: { readonly schedule: Schedule; readonly file?: string } | undefined;
}

const kind = "metricsHook";
const names = [
  ...["logger", "statsStore", "name", "run", "batches"],
  ...["gradients", "system", "timing", "progress", "heartbeat", "primary"],
];

/** Completes and checks what the hook is made with. */
export function planOf(options: MetricsHookOptions): MetricsPlan {
  checkNames(kind, options, names);
  const { logger, statsStore, name = "metrics", run = {}, batches = true } = options;
  const { progress = true, primary = true } = options;
  if (typeof logger !== "function" && typeof logger?.as !== "function")
    throw badOption(kind, `logger is ${shown(logger)}`, "give new Logger({ sinks: [consoleSink()] })");
  checkNames(`${kind}: run`, run, ["id", "name"]);
  if (run.id !== undefined && !/^[\w-]+$/.test(run.id))
    throw badOption(kind, `run.id is ${shown(run.id)}`, "use letters, digits, - and _ only");
  return {
    makeLogger: typeof logger === "function" ? logger : () => logger,
    ...{ statsStore, name, run, batches, progress, primary },
    gradients: part(options.gradients ?? false),
    system: look("system", options.system ?? true, ["schedule", "probe"]),
    timing: look("timing", options.timing ?? true, ["schedule"]),
    heartbeat: heartbeatOf(options),
  };
}

const part = <T extends object>(given: boolean | T): T | undefined =>
  given === true ? ({} as T) : given === false ? undefined : given;

function look<T extends LookOptions>(
  option: string,
  given: boolean | T,
  known: readonly string[],
  seconds = 10,
): (T & { readonly schedule: Schedule }) | undefined {
  const found = part(given);
  if (!found) return undefined;
  checkNames(`${kind}: ${option}`, found, known);
  const { schedule = every({ seconds }) } = found;
  if (typeof schedule?.due !== "function")
    throw badOption(kind, `${option}.schedule is ${shown(schedule)}`, "write every({ seconds: 10 })");
  return { ...found, schedule };
}

function heartbeatOf({ heartbeat, statsStore }: MetricsHookOptions): MetricsPlan["heartbeat"] {
  const plan = look("heartbeat", heartbeat ?? statsStore !== undefined, ["schedule", "file"], 30);
  if (plan) checkPlaces(`${kind}: heartbeat`, plan.file, statsStore);
  return plan;
}
