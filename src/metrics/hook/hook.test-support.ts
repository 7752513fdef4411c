import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { type ManualClock, manualClock } from "../../core/index.ts";
import * as nn from "../../nn/index.ts";
import * as optim from "../../optim/index.ts";
import { every } from "../../schedule/index.ts";
import { examples } from "../../supervised/drive.test-support.ts";
import { supervisedTask } from "../../supervised/index.ts";
import { type Task, Trainer, type TrainerHook, type TrainingConfig } from "../../trainer/index.ts";
import { Logger } from "../logger/logger.ts";
import type { MetricRecord } from "../record.ts";
import type { RunEnding, RunInfo, RunProgress } from "../run-info.ts";
import type { Sink } from "../sinks/sink.ts";
import type { MetricsHookOptions } from "./metrics-hook.ts";
import { metricsHook } from "./metrics-hook.ts";

/** A directory that is gone when the test is over. */
export function temporaryDirectory(): string {
  const path = mkdtempSync(join(tmpdir(), "espalier-metrics-"));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** A sink that keeps everything it is told. */
export class Keep implements Sink {
  readonly name = "keep";
  readonly schedule = every({ steps: 3 });
  readonly runs: RunInfo[] = [];
  readonly records: MetricRecord[] = [];
  readonly shown: RunProgress[] = [];
  readonly said: string[] = [];
  readonly endings: RunEnding[] = [];

  open(run: RunInfo): void {
    this.runs.push(run);
  }
  write(records: readonly MetricRecord[]): void {
    this.records.push(...records);
  }
  progress(progress: RunProgress): void {
    this.shown.push(progress);
  }
  message(text: string): void {
    this.said.push(text);
  }
  close(ending: RunEnding): void {
    this.endings.push(ending);
  }

  /** Values of a metric by the steps they are filed under. */
  of(key: string): readonly (readonly [step: number, value: unknown])[] {
    return this.records.filter((record) => record.key === key).map(({ step, value }) => [step, value]);
  }
}

/** A small net on the engine that is always there: seven updates an epoch, the last one smaller. */
export const smallTask = (more: object = {}) =>
  supervisedTask({
    model: nn.mlp({ hidden: [4], out: 2 }),
    optimizer: optim.adam({ learningRate: 0.01 }),
    data: examples([50, 3], [50, 2]),
    validation: examples([10, 3], [10, 2]),
    loss: nn.mse,
    batchSize: 8,
    engine: "wasm",
    ...more,
  });

/** Parts that look by the clock, off. */
export const timeless = { system: false, timing: false } as const;

export interface Observed {
  readonly keep: Keep;
  readonly trainer: Trainer;
  readonly clock: ManualClock;
  readonly warnings: string[];
  readonly logger: Logger;
}

/** A trainer with a metrics hook whose logger has one sink. */
export function observed(
  options: Partial<MetricsHookOptions> = {},
  {
    task = smallTask(),
    config = {},
    hooks = [],
    clock = manualClock(1000),
  }: {
    readonly task?: Task;
    readonly config?: Partial<TrainingConfig>;
    readonly hooks?: readonly TrainerHook[];
    readonly clock?: ManualClock;
  } = {},
): Observed {
  const keep = new Keep();
  const warnings: string[] = [];
  const warn = (text: string) => void warnings.push(text);
  const logger = new Logger({ sinks: [keep], clock, warn });
  const trainer = new Trainer({
    task,
    config: { epochs: 2, handleSignals: false, name: "small", ...config },
    hooks: [...hooks, metricsHook({ logger, ...options })],
    clock,
    warn,
  });
  return { keep, trainer, clock, warnings, logger };
}

/** The same in any order of sinks' calls: without what no two runs share. */
export const comparable = (records: readonly MetricRecord[]) =>
  records.map(({ wall: _, counters: { seconds: __, ...counters }, ...rest }) => ({ ...rest, counters }));
