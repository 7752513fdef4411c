import { describe, expect, it } from "vitest";
import { manualClock } from "../core/index.ts";
import { put } from "../engine/index.ts";
import { type Counters, cycle as cycleOf } from "../schedule/index.ts";
import type { StateTree } from "../state/index.ts";
import type { TrainingConfig } from "./config.ts";
import type { TrainerContext, TrainerHook } from "./events.ts";
import { FakeTask, type FakeTaskOptions, rollout, train } from "./task.test-support.ts";
import type { Frozen } from "./task.ts";
import { Trainer } from "./trainer.ts";

/** Runs a task of four epochs with a hook that looks at every call. */
async function looked<T>(
  look: (context: TrainerContext) => readonly T[],
  options: FakeTaskOptions = {},
  config: Partial<TrainingConfig> = {},
  more: Partial<TrainerHook> = {},
) {
  const found: T[] = [];
  const clock = manualClock();
  const task = new FakeTask({ onRun: () => clock.advance(1000), ...options });
  const hook: TrainerHook = {
    name: "look",
    onBatchesEnd: (context) => void found.push(...look(context)),
    ...more,
  };
  await new Trainer({ task, config: { epochs: 4, ...config }, hooks: [hook], clock }).train();
  return { found, calls: task.requests.length, task };
}

const timeless = ({ seconds: _, ...rest }: Counters) => rest;

/** Every row of every value: its name, its phase and where it belongs. */
const rowsOf = ({ values }: TrainerContext) =>
  values?.names.flatMap((name) =>
    Array.from({ length: values.rows(name) }, (_, row) => ({
      ...{ name, phase: values.phase(name) },
      at: timeless(values.at(name, row)),
    })),
  ) ?? [];

/** What observers of an event are told as the newest metrics, with everything else of the run as given. */
async function metricsAt(
  event: "onEpochEnd" | "onRolloutEnd" | "onBatchEnd",
  options: FakeTaskOptions,
  config: Partial<TrainingConfig>,
  others: readonly TrainerHook[] = [],
) {
  const seen: Readonly<Record<string, number>>[] = [];
  const hook: TrainerHook = {
    name: "observer",
    [event]: async ({ state }: TrainerContext) => {
      expect(state.values).toBeUndefined();
      seen.push(await state.metrics());
    },
  };
  const task = new FakeTask(options);
  const { metrics } = await new Trainer({
    task,
    config: { epochs: 4, ...config },
    hooks: [hook, ...others],
  }).train();
  return { seen, metrics, calls: task.requests.length };
}

describe("the newest metrics", () => {
  const epoch = () => [rollout(2), train(3)];
  const unrelated: TrainerHook = { name: "unrelated", onRolloutEnd: () => {}, onBatchStart: () => {} };
  const cycle: TrainerHook = {
    name: "cycle",
    schedule: cycleOf({ epochs: 2, active: [1] }),
    onBatchEnd: () => {},
  };

  it("are the same however the work is cut, those of rollouts and of batches alike", async () => {
    for (const event of ["onEpochEnd", "onRolloutEnd", "onBatchEnd"] as const) {
      const fused = await metricsAt(event, { epoch }, {});
      expect(Object.keys(fused.metrics)).toEqual(["loss", "reward"]);
      for (const [config, others] of [
        [{ fuse: false }, []],
        [{ fuse: 3 }, []],
        [{}, [unrelated]],
        [{}, [cycle]],
      ] as const) {
        const cut = await metricsAt(event, { epoch }, config, others);
        expect(cut.seen).toEqual(fused.seen);
        expect(cut.metrics).toEqual(fused.metrics);
      }
    }
  });

  it("keep a rollout's value where later rollouts had nothing to measure", async () => {
    const some = (rollout: number) => (rollout === 1 || rollout === 5 ? rollout * 10 : Number.NaN);
    for (const fuse of [true, false, 3]) {
      const { seen } = await metricsAt("onEpochEnd", { epoch, reward: some }, { fuse });
      expect(seen.map(({ reward }) => reward)).toEqual([10, 10, 50, 50]);
      const many = await metricsAt("onEpochEnd", { epoch, reward: some }, { fuse, epochs: 60 });
      expect(many.seen.at(-1)?.reward).toBe(50);
      const none = await metricsAt("onEpochEnd", { epoch, reward: () => Number.NaN }, { fuse });
      expect(none.seen.map((metrics) => Object.keys(metrics))).toEqual(Array(4).fill(["loss"]));
    }
  });

  it("are those of the moment for a hook in the background, and for a state that was kept", async () => {
    const found: number[] = [];
    const kept: TrainerContext["state"][] = [];
    const behind: TrainerHook = {
      name: "behind",
      background: { reads: [] },
      onEpochEnd: async ({ state }) => {
        await new Promise((resolve) => setImmediate(resolve));
        found.push((await state.metrics()).loss as number);
      },
    };
    const keep: TrainerHook = { name: "keep", onEpochEnd: ({ state }) => void kept.push(state) };
    const { seen } = await metricsAt("onEpochEnd", {}, {}, [behind, keep]);
    const losses = seen.map(({ loss }) => loss);
    expect(new Set(losses).size).toBe(4);
    expect(found).toEqual(losses);
    expect(await Promise.all(kept.map(async (state) => (await state.metrics()).loss))).toEqual(losses);
  });

  it("are part of the run's state: a run resumed after a rollout still has that rollout's", async () => {
    let frozen: Frozen | undefined;
    const freeze: TrainerHook = {
      name: "freeze",
      onBatchEnd: async ({ counters, snapshot }) => {
        if (counters.batches === 4) frozen = await snapshot();
      },
    };
    const whole = await metricsAt("onEpochEnd", { epoch }, {}, [freeze]);
    const seen: unknown[] = [];
    const resume = (state: (trainer: StateTree) => StateTree): TrainerHook => ({
      name: "freeze",
      onTrainingStart: ({ components }) => {
        for (const [name, part] of Object.entries(components)) {
          const saved = frozen?.components[name] as StateTree;
          part.setState(name === "trainer" ? state(saved) : saved);
        }
      },
    });
    const observer: TrainerHook = {
      name: "observer",
      onEpochEnd: async ({ state }) => void seen.push(await state.metrics()),
    };
    const again = (state: (trainer: StateTree) => StateTree) =>
      new Trainer({
        task: new FakeTask({ epoch }),
        config: { epochs: 4 },
        hooks: [resume(state), observer],
      }).train();
    expect((await again((state) => state)).metrics).toEqual(whole.metrics);
    expect(seen).toEqual(whole.seen.slice(1));
    // States from before they were part of it still restore.
    seen.length = 0;
    await again((state) => {
      const { metrics: _, ...old } = state as { readonly metrics: StateTree };
      return old;
    });
    expect(seen).toEqual([{ loss: whole.seen[1]?.loss }, ...whole.seen.slice(2)]);
  });
});

describe("the counters of a row", () => {
  it.each([
    ["batches of two sizes", () => [train(3), train(1, { adds: { updates: 1, samples: 2 } })]],
    ["rollouts and batches", () => [rollout(2), train(3)]],
  ])("are the same however the work is cut: %s", async (_, epoch) => {
    const fused = await looked(rowsOf, { epoch });
    const single = await looked(rowsOf, { epoch }, { fuse: false });
    expect(fused.calls).toBe(1);
    expect(single.calls).toBeGreaterThan(15);
    for (const name of ["loss", "reward"]) {
      const of = (all: typeof fused) => all.found.filter((row) => row.name === name);
      expect(of(fused)).toEqual(of(single));
    }
  });

  it("are those when it was done, and the last row's those of the moment", async () => {
    const { found } = await looked(
      ({ values, counters }) => [[values?.at("loss", 0), values?.at("loss", 4), counters]],
      {},
      { fuse: 5 },
    );
    const [first, last, now] = found[1] as readonly Counters[];
    expect(first).toMatchObject({ epoch: 1, epochs: 1, batches: 6, updates: 6, samples: 24, steps: 6 });
    expect(first?.seconds).toBeCloseTo(1.2, 9);
    expect(last).toEqual(now);
  });

  it("are refused for rows that there are not", async () => {
    const look = ({ values }: TrainerContext) => [() => values?.at("loss", 99)];
    const { found } = await looked(look);
    expect(found[0]).toThrow(/no row 99 of "loss"/);
  });
});

describe("the spans of a call", () => {
  const spansWith = async (options: FakeTaskOptions, config: Partial<TrainingConfig> = {}) =>
    (await looked(({ values }) => [values?.spans ?? []], options, config)).found;

  it("are one where it had one phase, whatever the segments", async () => {
    const epoch = () => [train(3), train(2)];
    expect(await spansWith({ epoch }, { epochs: 2 })).toEqual([[{ phase: "train", from: 0, rows: 10 }]]);
  });

  it("are rollouts and batches in turn", async () => {
    const epoch = () => [rollout(2), train(3)];
    expect(await spansWith({ epoch }, { epochs: 2 })).toEqual([
      [
        { phase: "rollout", from: 0, rows: 2 },
        { phase: "train", from: 0, rows: 3 },
        { phase: "rollout", from: 2, rows: 2 },
        { phase: "train", from: 3, rows: 3 },
      ],
    ]);
  });

  it("end where the source did", async () => {
    const found = await spansWith({ supply: 4, epoch: () => [rollout(2), train(3)] }, { onEmpty: "finish" });
    expect(found[0]).toEqual([
      { phase: "rollout", from: 0, rows: 2 },
      { phase: "train", from: 0, rows: 2 },
    ]);
  });
});

describe("what hooks see of a stretch", () => {
  it("has which updates took effect, where the task says so", async () => {
    const look = ({ values }: TrainerContext) => [values?.applied];
    expect((await looked(look)).found).toEqual([undefined]);
    const task = new FakeTask();
    const run = task.run.bind(task);
    const applied = put([1, 0, 1, 1, 1], { engine: "wasm" });
    task.run = (request) => ({ ...(run(request) as object), metrics: {}, applied });
    const seen: unknown[] = [];
    const hook: TrainerHook = { name: "look", onBatchesEnd: (context) => void seen.push(...look(context)) };
    await new Trainer({ task, config: { epochs: 1 }, hooks: [hook] }).train();
    expect(seen).toEqual([applied]);
  });

  it("has how much of the epoch is done", async () => {
    const shares: string[] = [];
    const say = ({ event, state }: TrainerContext) => void shares.push(`${event} ${state.epochShare}`);
    const handlers = { onEpochStart: say, onBatchEnd: say, onBatchesEnd: say, onEpochEnd: say };
    await looked(() => [], { epoch: () => [train(2)] }, { epochs: 1 }, handlers);
    expect(shares).toEqual([
      "onEpochStart 0",
      ...["onBatchesEnd 0.5", "onBatchEnd 0.5", "onBatchesEnd 1", "onBatchEnd 1"],
      "onEpochEnd 0",
    ]);
  });

  it("has how long each hook took so far", async () => {
    const { found } = await looked(({ hookTimings }) => [hookTimings], {}, { fuse: 5 });
    expect(found.map((timings) => timings.map(({ hook, count }) => [hook, count]))).toEqual([
      [["look", 0]],
      [["look", 1]],
      [["look", 2]],
      [["look", 3]],
    ]);
  });
});
