import { describe, expect, it } from "vitest";
import { np } from "../engine/index.ts";
import { Logger, type MetricRecord, metricsHook } from "../metrics/index.ts";
import * as nn from "../nn/index.ts";
import * as optim from "../optim/index.ts";
import { dqnTask } from "../rl/dqn/task.ts";
import { smallTask } from "../rl/on-policy/on-policy.test-support.ts";
import { vectorEnvironment } from "../rl/vector/vector-environment.ts";
import { at, type Counters, cycle, every, linear, never } from "../schedule/index.ts";
import type { StateTree } from "../state/index.ts";
import { examples } from "../supervised/drive.test-support.ts";
import { supervisedTask } from "../supervised/index.ts";
import type { TrainingConfig } from "./config.ts";
import type { TrainerContext, TrainerEvent, TrainerHook } from "./events.ts";
import { rolloutStats } from "./slots.ts";
import type { Task } from "./task.ts";
import { Trainer } from "./trainer.ts";

const engine = "wasm";

/** Tasks of every kind, each with metrics that not every repeat reports. */
const tasks: Readonly<Record<string, () => Task>> = {
  supervised: () =>
    supervisedTask({
      engine,
      model: nn.sequential([nn.dense(4), nn.tanh, nn.dense(1)]),
      optimizer: optim.adam({ learningRate: 0.01 }),
      data: examples([26, 3], [26, 1]),
      validation: examples([6, 3], [6, 1]),
      loss: [
        { name: "fit", term: ({ outputs, batch }) => ({ loss: nn.mse(outputs, batch.y) }) },
        {
          name: "small",
          active: { train: cycle({ epochs: 3, active: [2] }) },
          term: ({ outputs }) => ({ loss: np.mean(np.square(outputs)) }),
        },
      ],
      batchSize: 4,
    }),
  "on-policy, compiled": () => smallTask("compiled", engine, { rolloutSteps: 8 }),
  "on-policy, ordinary": () => smallTask("ordinary", engine, { rolloutSteps: 8 }),
  dqn: () =>
    dqnTask({
      engine,
      env: vectorEnvironment({ make: "CartPole-v1", count: 2 }),
      policy: { encoder: { kind: "mlp", hidden: [8] }, towers: "shared" },
      optimizer: optim.adam({ learningRate: 0.01 }),
      ...{ rolloutSteps: 4, updates: 2, cycles: 3, batchSize: 8, capacity: 100, learningStarts: 24 },
      epsilon: linear({ from: 1, to: 0.3, over: { samples: 100 } }),
    }),
};

/** An observer: the events that it handles, and when. */
type Watch = readonly [events: readonly TrainerEvent[], schedule?: TrainerHook["schedule"]];

/** Who looks: at ends of epochs and validations alone, which leaves the rest fused, or at some batches and rollouts. */
const watches: Readonly<Record<string, readonly Watch[]>> = {
  "ends of epochs": [
    [["onTrainingStart", "onTrainPhaseEnd", "onValidationStart", "onValidationEnd", "onEpochEnd"]],
    [["onError", "onTrainingEnd"]],
  ],
  "some batches, rollouts and epochs": [
    [["onBatchEnd"], every({ batches: 3 })],
    [["onBatchStart"], every({ updates: 5 })],
    [["onEpochStart", "onRolloutStart"], every({ epochs: 2 })],
    [["onRolloutEnd"], cycle({ epochs: 3, active: [1, 3] })],
    [["onError", "onTrainingEnd"]],
  ],
};

const idle = (): void => {};

/** What changes how the work is cut, and nothing else. */
const cuts: Readonly<Record<string, { readonly fuse?: boolean | number; readonly hook?: TrainerHook }>> = {
  "fused by three": { fuse: 3 },
  "one by one": { fuse: false },
  "an unrelated hook on every batch": { hook: { name: "unrelated", onBatchStart: idle, onBatchEnd: idle } },
  "a cycle": {
    hook: {
      name: "cycle",
      schedule: cycle({ epochs: 2, active: [2] }),
      onBatchEnd: idle,
      onRolloutEnd: idle,
    },
  },
};

const timeless = (counters: Counters | undefined) => counters && { ...counters, seconds: 0 };

/** Everything that a handler can see, but for what no two runs share: times. */
async function seen({ event, counters, since, state, values, outcome, reason, slots }: TrainerContext) {
  return {
    ...{ event, counters: timeless(counters), since: timeless(since), outcome, reason, values },
    state: { ...state, counters: timeless(state.counters), metrics: undefined },
    stats: slots.get(rolloutStats),
    metrics: Object.entries(await state.metrics()),
  };
}

type Seen = Awaited<ReturnType<typeof seen>>;

/** A run with observers and a logger: what they saw, and what a sink got. */
async function traced(
  task: Task,
  watched: readonly Watch[],
  { fuse = true, hook }: (typeof cuts)[string],
  more: {
    readonly hooks?: readonly TrainerHook[];
    readonly states?: Readonly<Record<string, StateTree>>;
    readonly trace?: Seen[];
  } = {},
) {
  const { trace = [] } = more;
  const records: MetricRecord[] = [];
  const look = async (context: TrainerContext) => void trace.push(await seen(context));
  const looking = watched.map(([events, schedule], i): TrainerHook => {
    const handlers = Object.fromEntries(events.map((event) => [event, look]));
    return { name: `observer ${i}`, wants: [rolloutStats], ...(schedule && { schedule }), ...handlers };
  });
  const sink = {
    name: "keep",
    schedule: every({ steps: 3 }),
    write: (all: readonly MetricRecord[]) => void records.push(...all),
  };
  const metrics = metricsHook({
    logger: new Logger({ sinks: [sink] }),
    ...{ system: false, timing: false, progress: false },
  });
  const config: Partial<TrainingConfig> = {
    ...{ epochs: 5, seed: 3, fuse, handleSignals: false, maxUpdates: 27 },
    validate: task.validate ? every({ updates: 5 }) : never(),
  };
  const hooks = [...looking, metrics, ...(hook ? [hook] : []), ...(more.hooks ?? [])];
  const trainer = new Trainer({ task, config, hooks, warn: () => {} });
  for (const [name, state] of Object.entries(more.states ?? {}))
    await trainer.components[name]?.setState(state);
  await trainer.train().catch(idle);
  const { metrics: last, validation, outcome } = trainer.result ?? {};
  const kept = records.map(({ key, step, count, value, counters }) => ({
    ...{ key, step, count, value, counters: timeless(counters) },
  }));
  return { trace, records: kept, result: { last, validation, outcome } };
}

/** Fails the run in its third epoch, so that onError occurs too. */
const failing = (): TrainerHook => ({
  name: "failing",
  onTrainPhaseEnd: ({ counters }) => {
    if (counters.epochs === 3) throw new Error("on purpose");
  },
});

describe.each(Object.entries(tasks))("%s: what handlers and sinks see", (_task, make) => {
  const fused = new Map<readonly Watch[], ReturnType<typeof traced>>();
  /** The run in as few calls as can be, once for all that is compared with it. */
  const wholeOf = (watched: readonly Watch[]): ReturnType<typeof traced> => {
    const known = fused.get(watched) ?? traced(make(), watched, {});
    fused.set(watched, known);
    return known;
  };

  it.each(Object.entries(watches))("is the same however the work was cut: %s", async (_name, watched) => {
    const whole = await wholeOf(watched);
    expect(whole.trace.length).toBeGreaterThan(6);
    expect(whole.trace.at(-1)?.metrics.length).toBeGreaterThan(0);
    expect(whole.records.length).toBeGreaterThan(6);
    for (const [cut, how] of Object.entries(cuts)) {
      const other = await traced(make(), watched, how);
      expect(other.trace, cut).toEqual(whole.trace);
      expect(other.records, cut).toEqual(whole.records);
      expect(other.result, cut).toEqual(whole.result);
    }
  });

  it("is the same where the run fails", async () => {
    const watched = watches["ends of epochs"] ?? [];
    const whole = await traced(make(), watched, {}, { hooks: [failing()] });
    expect(whole.trace.map(({ event }) => event)).toContain("onError");
    const other = await traced(make(), watched, { fuse: false }, { hooks: [failing()] });
    expect(other.trace).toEqual(whole.trace);
  });

  it.each(Object.entries(watches))("is the same where the run was resumed: %s", async (_name, watched) => {
    const whole = await wholeOf(watched);
    let states: Readonly<Record<string, StateTree>> | undefined;
    let heard = 0;
    const trace: Seen[] = [];
    await traced(
      make(),
      watched,
      {},
      {
        trace,
        hooks: [
          {
            name: "break",
            // In the middle of an epoch, after its rollout.
            schedule: at({ batches: 9 }),
            onBatchEnd: ({ snapshot, stop, afterEvent }) =>
              afterEvent(async () => {
                states = (await snapshot()).components;
                heard = trace.length;
                stop("here");
              }),
          },
        ],
      },
    );
    const second = await traced(make(), watched, {}, { states: states ?? {} });
    // What came after the state was taken belongs to the end of the first process alone.
    const after = second.trace.filter(({ event }) => event !== "onTrainingStart");
    expect([...trace.slice(0, heard), ...after]).toEqual(whole.trace);
    expect(second.result).toEqual(whole.result);
  });
});
