import { checkpointHook } from "../checkpoint/index.ts";
import { badOption, option } from "../core/index.ts";
import type { Slot } from "../hooks/index.ts";
import type { MonitorOptions } from "../learner/index.ts";
import {
  consoleSink,
  gradientMonitor,
  jsonlSink,
  Logger,
  metricsHook,
  tensorBoardSink,
} from "../metrics/index.ts";
import { gradientHealth, latestCheckpoint, latestMetrics, type TrainerHook } from "../trainer/index.ts";
import { confusionMatrixHook, validationTables } from "./tables.ts";

/** The parts that `checkpointDir` sets up. */
export interface AutomaticParts {
  /** A `checkpointHook` in the directory, which also goes on from what is there. Default: true. */
  readonly checkpoints?: boolean;
  /** A `metricsHook` that writes to the console, to `metrics.jsonl` and to `tensorboard/` in it. Default: true. */
  readonly metrics?: boolean;
  /** A `gradientMonitor`, and the norms that it needs. Default: true. */
  readonly gradients?: boolean;
}

interface Given {
  readonly checkpointDir?: string | undefined;
  readonly automatic?: AutomaticParts | undefined;
}

/** The rows of both options. */
export const automaticTable = {
  checkpointDir: option.made<string>(
    'the name of a directory, such as "runs/mnist"',
    (value) => typeof value === "string" && value.trim() !== "",
    {},
  ),
  automatic: option.group<AutomaticParts>(
    { checkpoints: option.flag({}), metrics: option.flag({}), gradients: option.flag({}) },
    {},
  ),
};

/** Refuses `automatic` without `checkpointDir`. */
export function checkAutomatic({ checkpointDir, automatic }: Given): void {
  if (automatic !== undefined && checkpointDir === undefined)
    throw badOption(
      "supervisedTrainer",
      "automatic is given, and nothing is set up without checkpointDir",
      'give checkpointDir: "runs/mnist" too, or leave automatic out',
    );
}

/** A run's hooks with those that `checkpointDir` adds. A given hook that provides the same slot takes a part's place. */
export function withAutomatic(
  hooks: readonly TrainerHook[],
  { checkpointDir, automatic = {}, monitor }: Given & { readonly monitor?: MonitorOptions | undefined },
  console: boolean,
  tables: boolean,
): { readonly hooks: readonly TrainerHook[]; readonly monitor: MonitorOptions | undefined } {
  const drawn = tables && !hooks.some(({ wants = [] }) => wants.includes(validationTables));
  const stream = console ? {} : { stream: false as const };
  if (checkpointDir === undefined)
    return { hooks: drawn ? [...hooks, confusionMatrixHook(stream)] : hooks, monitor };
  const { checkpoints = true, metrics = true, gradients = true } = automatic;
  const isFree = (slot: Slot): boolean => !hooks.some((hook) => doesProvide(hook, slot));
  const norms = gradients && monitor?.gradients !== false;
  const added: TrainerHook[] = [];
  if (metrics && isFree(latestMetrics))
    added.push(metricsHook({ logger: () => loggerIn(checkpointDir, console) }));
  if (drawn) added.push(confusionMatrixHook({ directory: checkpointDir, ...stream }));
  if (norms && isFree(gradientHealth)) added.push(gradientMonitor());
  if (checkpoints && isFree(latestCheckpoint)) added.push(checkpointHook({ directory: checkpointDir }));
  return { hooks: [...hooks, ...added], monitor: norms ? { gradients: true, ...monitor } : monitor };
}

const doesProvide = (
  { provides = [], children = [] }: Pick<TrainerHook, "provides" | "children">,
  slot: Slot,
): boolean => provides.includes(slot) || children.some((child) => doesProvide(child as TrainerHook, slot));

function loggerIn(directory: string, console: boolean): Logger {
  const { join } = process.getBuiltinModule("node:path");
  return new Logger({
    sinks: [
      ...(console ? [consoleSink()] : []),
      jsonlSink(join(directory, "metrics.jsonl")),
      tensorBoardSink(join(directory, "tensorboard")),
    ],
  });
}
