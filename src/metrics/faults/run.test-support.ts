import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { checkpointHook } from "../../checkpoint/index.ts";
import { manualClock } from "../../core/index.ts";
import * as nn from "../../nn/index.ts";
import * as optim from "../../optim/index.ts";
import { every } from "../../schedule/index.ts";
import { hashState } from "../../state/index.ts";
import { examples } from "../../supervised/drive.test-support.ts";
import { supervisedTask } from "../../supervised/index.ts";
import { Trainer, type TrainerHook } from "../../trainer/index.ts";
import {
  type DeliveryLimits,
  Logger,
  type MetricRecord,
  metricsHook,
  type Sink,
  type SinkSummary,
  type StatsStore,
} from "../index.ts";

/** A folder that is gone when the test is over, unless told that somebody else removes it. */
export function newFolder(forTest = true): string {
  const path = mkdtempSync(join(tmpdir(), "espalier-faults-"));
  if (forTest) onTestFinished(() => removeFolder(path));
  return path;
}
export const removeFolder = (path: string): void => rmSync(path, { recursive: true, force: true });

/** Short enough that a test need not wait, and never what a result depends on. */
const limits: Partial<DeliveryLimits> = { retry: [0.001, 0.004], deadline: 0.005, closing: 0.1 };

/** Windows of all sinks: thirty of them, and one that is cut off where a run is. */
export const schedule = every({ steps: 10 });
export const updates = 300;

export interface Training {
  readonly sinks?: readonly Sink[];
  readonly statsStore?: StatsStore;
  readonly spill?: string;
  readonly delivery?: Partial<DeliveryLimits>;
  /** Done after so many updates, while training waits. */
  readonly after?: Readonly<Record<number, (logger: Logger) => unknown>>;
  /** Where checkpoints are kept: a run that finds one goes on from it. */
  readonly checkpoints?: string;
  readonly maxUpdates?: number;
  /** When it begins, in milliseconds since 1970. */
  readonly wall?: number;
  /** Trains without a logger. */
  readonly silent?: boolean;
}

export interface Trained {
  /** Of all that decides how training goes on: parameters, optimizer, data, keys. */
  readonly numbers: Readonly<Record<string, string>>;
  /** What a sink got that never fails. */
  readonly kept: readonly MetricRecord[];
  readonly said: readonly string[];
  readonly outcome: string;
  state(sink: string): SinkSummary;
}

/** Three hundred updates of a small net, through a metrics hook. Time stands still, so that files can be compared. */
export async function trained(choice: Training = {}): Promise<Trained> {
  const {
    sinks = [],
    statsStore,
    spill,
    delivery,
    after = {},
    checkpoints,
    wall = 1_700_000_000_000,
  } = choice;
  const clock = manualClock(wall);
  const said: string[] = [];
  const kept: MetricRecord[] = [];
  const warn = (text: string): void => void said.push(text);
  const logger = new Logger({
    sinks: [...sinks, { name: "kept", schedule, write: (records) => void kept.push(...records) }],
    ...(spill !== undefined && { spill }),
    delivery: { ...limits, ...delivery },
    ...{ clock, warn },
  });
  const faults: TrainerHook = {
    name: "faults",
    schedule: every({ updates: 50 }),
    onBatchEnd: async ({ counters }) => void (await after[counters.updates]?.(logger)),
  };
  const metrics = metricsHook({
    ...{ logger, system: false, timing: false, run: { id: "faulty" } },
    ...(statsStore && { statsStore }),
  });
  const trainer = new Trainer({
    task: supervisedTask({
      model: nn.mlp({ hidden: [4], out: 2 }),
      optimizer: optim.adam({ learningRate: 0.01 }),
      data: examples([160, 3], [160, 2]),
      validation: examples([16, 3], [16, 2]),
      loss: nn.mse,
      batchSize: 8,
      engine: "wasm",
    }),
    config: {
      ...{ epochs: updates / 20, name: "faulty", handleSignals: false },
      maxUpdates: choice.maxUpdates ?? Number.POSITIVE_INFINITY,
      // A run in parts is compared with one in one go, which has no validation between them.
      validateAtEnd: false,
    },
    hooks: [
      ...(choice.silent ? [] : [faults, metrics]),
      ...(checkpoints === undefined
        ? []
        : [checkpointHook({ directory: checkpoints, schedule: every({ updates: 100 }) })]),
    ],
    ...{ clock, warn },
  });
  const { outcome } = await trainer.train();
  const numbers: Record<string, string> = {};
  for (const [name, part] of Object.entries(trainer.components))
    if (!/^(time|slots|trainer|hook\..*)$/.test(name)) numbers[name] = await hashState(await part.getState());
  const { sinks: states } = logger.summary();
  return {
    ...{ numbers, kept, said, outcome },
    state: (name) => states.find((each) => each.name === name) as SinkSummary,
  };
}

/** A value as all sinks know it, without what no two processes share. */
export const shared = ({ key, step, value, count }: Comparable): Comparable => ({ key, step, value, count });

interface Comparable extends Pick<MetricRecord, "key" | "step" | "count"> {
  readonly value?: unknown;
}

/** What a JSONL sink has written. */
export const linesOf = (path: string): MetricRecord[] =>
  readFileSync(path, "utf8")
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line) as MetricRecord);
