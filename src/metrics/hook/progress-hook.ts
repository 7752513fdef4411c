import { every } from "../../schedule/index.ts";
import { latestMetrics, type TrainerHook } from "../../trainer/index.ts";
import { Logger } from "../logger/logger.ts";
import { type ConsoleOptions, consoleSink } from "../sinks/console/console-sink.ts";
import type { ConsoleStream } from "../sinks/console/stream.ts";
import { metricsHook } from "./metrics-hook.ts";

/** Metrics shown first: how good the model is. */
const important = ["rollout/episode.return", "evaluation/return", "validation/*", "train/loss"];

/**
 * Shows how far a run is and what it reports, and does nothing else: a bar and a table on a terminal, a line from time
 * to time elsewhere. It has no state, so that a checkpoint can be resumed with it or without. Where metrics are to go to
 * other places too, give a `metricsHook` a logger with a `consoleSink` instead.
 *
 * @example
 * ```ts
 * await new Trainer({ task, config, hooks: [progressHook()] }).train();
 * ```
 */
export function progressHook(options: ConsoleOptions = {}): TrainerHook {
  const { stream = process.stdout, schedule = every({ seconds: stream.isTTY ? 10 : 30 }) } = options;
  const {
    state,
    children = [],
    ...hook
  } = metricsHook({
    name: "progress",
    logger: () => new Logger({ sinks: [consoleSink({ important, limit: 6, ...options, stream, schedule })] }),
    system: false,
    timing: false,
    heartbeat: false,
    primary: false,
  });
  return { ...hook, children: children.map(({ state: _, ...child }) => child) };
}

/**
 * Adds a hook that shows progress to the hooks of a run: where `progress` is true, or where it is left out, the stream
 * is a terminal, and no hook logs metrics already.
 *
 * @example
 * ```ts
 * await new Trainer({ task, config, hooks: withProgress([checkpointHook({ directory: "runs/mine" })]) }).train();
 * ```
 */
export function withProgress(
  hooks: readonly TrainerHook[],
  progress?: boolean,
  stream: ConsoleStream | undefined = globalThis.process?.stdout,
): readonly TrainerHook[] {
  if (stream === undefined) return hooks; // a browser has none
  const shown = progress ?? (stream.isTTY === true && !hooks.some(hasMetrics));
  return shown ? [...hooks, progressHook({ stream })] : hooks;
}

/** True for a hook with a logger of its own. */
const hasMetrics = ({ provides = [], children = [] }: TrainerHook): boolean =>
  provides.includes(latestMetrics) || children.some((child) => hasMetrics(child as TrainerHook));
