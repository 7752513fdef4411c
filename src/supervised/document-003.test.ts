import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { temporaryDirectory } from "../checkpoint/hook/runs.test-support.ts";
import { CheckpointManager, checkpointHook, localStore } from "../checkpoint/index.ts";
import type { Value } from "../engine/index.ts";
import { compositeHook, loggingHook, PeriodicHook } from "../hooks/index.ts";
import { gradientMonitor, Logger, metricsHook } from "../metrics/index.ts";
import * as nn from "../nn/index.ts";
import * as optim from "../optim/index.ts";
import { cosine, every } from "../schedule/index.ts";
import { firstDifference, type StateTree } from "../state/index.ts";
import {
  evaluationScores,
  type Frozen,
  gradientHealth,
  latestCheckpoint,
  rolloutStats,
  Trainer,
  type TrainerContext,
  type TrainerEvents,
  type TrainerHook,
  type TrainerState,
  trainerEvents,
} from "../trainer/index.ts";
import { FakeTask, rollout, train } from "../trainer/task.test-support.ts";
import { accuracy } from "./metrics.ts";
import type { SupervisedConfig } from "./options.ts";
import { supervisedTask } from "./task.ts";
import { type SupervisedTrainer, type SupervisedTrainerOptions, supervisedTrainer } from "./trainer.ts";

/** Two clouds of points, told apart by their label. */
function clouds(n: number, shift = 0) {
  const x = Float32Array.from({ length: 2 * n }, (_, i) => {
    const point = Math.floor(i / 2) + shift;
    return i % 2 ? Math.cos(point * 3.3) : Math.sin(point * 7.1) + (point % 2 ? 2 : -2);
  });
  return { x: { data: x, shape: [n, 2] }, y: Int32Array.from({ length: n }, (_, i) => (i + shift) % 2) };
}

const model = nn.mlp({ hidden: [8], out: 2 });

/** 003's form on the engine that is always there: batches of 8. */
const trainerOf = (config: Partial<SupervisedConfig> = {}, hooks?: TrainerHook | readonly TrainerHook[]) =>
  supervisedTrainer({
    model,
    trainingConfig: { batchSize: 8, handleSignals: false, ...config },
    engine: "wasm",
    ...(hooks && { hooks }),
  });

const taskOf = (more: object = {}) =>
  supervisedTask<Value, Value, Value>({
    ...{ model, data: clouds(32), loss: nn.crossEntropy, metrics: { accuracy }, batchSize: 8 },
    ...{ optimizer: optim.adam({ learningRate: 0.02 }), engine: "wasm", ...more },
  });

/** Everything but what each run has of its own: the time it took, and where it started. */
function lasting({ time: _, ...states }: Readonly<Record<string, StateTree>>): StateTree {
  return states;
}

/** Keeps the loss of every batch. */
function losses(): { readonly hook: TrainerHook; readonly seen: number[] } {
  const seen: number[] = [];
  const onBatchesEnd = async ({ values }: TrainerContext) => {
    seen.push(...((await values?.read())?.loss ?? []));
  };
  return { hook: { name: "losses", onBatchesEnd }, seen };
}

/** 003 sets up checkpoints, metrics and the gradient monitor by itself. */
describe("checkpointDir", () => {
  const made = (checkpointDir: string, more: Partial<SupervisedTrainerOptions> = {}) =>
    supervisedTrainer({
      ...{ model, checkpointDir, engine: "wasm", ...more },
      trainingConfig: { epochs: 3, batchSize: 8, handleSignals: false, ...more.trainingConfig },
    });
  const inputs = { trainData: clouds(28), valData: clouds(8, 40), progress: false };
  const keysIn = (directory: string) =>
    readFileSync(join(directory, "metrics.jsonl"), "utf8")
      .trim()
      .split("\n")
      .map((line) => (JSON.parse(line) as { readonly key: string }).key);
  const namesOf = (trainer: SupervisedTrainer) => trainer.trainer.getHooks().map(({ name }) => name);

  it("sets up checkpoints, metrics and the gradient monitor, from which a run goes on with the same bits", async () => {
    const [whole, broken] = [temporaryDirectory(), temporaryDirectory()];
    const uninterrupted = made(whole);
    await uninterrupted.train(inputs);
    expect(namesOf(uninterrupted)).toEqual(["metrics", "gradients", "checkpoint"]);
    const saved = await new CheckpointManager({ store: localStore(whole) }).list();
    expect(saved.map(({ manifest }) => manifest?.counters.epochs)).toEqual([1, 2, 3]);
    expect(keysIn(whole)).toEqual(
      expect.arrayContaining([
        "train/loss",
        "train/gradientNorm",
        "validation/accuracy",
        "health/gradients.nan",
      ]),
    );
    expect(readdirSync(join(whole, "tensorboard")).some((name) => name.includes("tfevents"))).toBe(true);
    expect(uninterrupted.trainer.hooks.slots.get(gradientHealth)?.norm).toBeGreaterThan(0);

    expect((await made(broken, { trainingConfig: { maxUpdates: 6 } }).train(inputs)).counters.batches).toBe(
      6,
    );
    const again = made(broken);
    expect((await again.train({ ...inputs, resumeFrom: broken })).counters.batches).toBe(12);
    const states = async (trainer: SupervisedTrainer) => {
      const { params, optimizer, data, "hook.gradients": gradients } = await trainer.state();
      return { params, optimizer, data, gradients } as StateTree;
    };
    expect(await firstDifference(await states(again), await states(uninterrupted))).toBeUndefined();
    // Started once more, it finds itself at its end.
    expect((await made(broken).train(inputs)).counters.batches).toBe(12);
  });

  it("leaves out parts that are turned off, and those that a given hook does", async () => {
    const train = async (more: Partial<SupervisedTrainerOptions>) => {
      const directory = temporaryDirectory();
      const trainer = made(directory, more);
      await trainer.train(inputs);
      return { names: namesOf(trainer), files: readdirSync(directory).sort() };
    };
    expect(await train({ automatic: { metrics: false, gradients: false } })).toEqual({
      names: ["checkpoint"],
      files: expect.not.arrayContaining(["metrics.jsonl", "tensorboard"]),
    });
    expect(await train({ automatic: { checkpoints: false }, monitor: { gradients: false } })).toEqual({
      names: ["metrics"],
      files: ["metrics.jsonl", "tensorboard"],
    });
    const elsewhere = temporaryDirectory();
    const given = [
      checkpointHook({ directory: elsewhere, name: "mine" }),
      compositeHook({ name: "watch", hooks: [gradientMonitor({ exploding: 100 })] }),
      metricsHook({ logger: () => new Logger({ sinks: [] }), name: "own" }),
    ];
    expect(await train({ hooks: given })).toEqual({ names: ["mine", "watch", "own"], files: [] });
    expect(readdirSync(elsewhere)).toContain("epoch-0003-update-000012");
  });

  it.each([
    [{ checkpointDir: "" }, /checkpointDir is "".*OPTION_INVALID/s],
    [{ checkpointDir: "runs", automatic: { metric: false } }, /did you mean "metrics"/],
    [{ checkpointDir: "runs", automatic: { metrics: 3 } }, /automatic: metrics is 3.*OPTION_INVALID/s],
    [{ automatic: { metrics: false } }, /without checkpointDir.*OPTION_INVALID/s],
    [{ checkpoint_dir: "runs" }, /did you mean "checkpointDir"/],
    [{ trainingConfig: { checkpointDir: "runs" } }, /CONFIG_UNKNOWN.*supervisedTrainer\(\{ checkpointDir/s],
  ])("is refused as %j", (options, message) => {
    expect(() => supervisedTrainer({ model, ...(options as object) })).toThrow(message);
  });
});

/** The tests that document 003 lists, by its names. */
describe("document 003", () => {
  it("test_trainer_initialization: sets up all components", async () => {
    const remembering: TrainerHook = {
      name: "counts",
      state: { getState: () => ({ runs: 0 }), setState: () => {} },
      onEpochEnd: () => {},
    };
    const trainer = new Trainer({ task: taskOf(), config: { epochs: 3 }, hooks: [remembering] });
    expect(Object.keys(trainer.components).sort()).toEqual(
      ["data", "hook.counts", "keys", "optimizer", "params", "random", "slots", "time", "trainer"].sort(),
    );
    for (const part of Object.values(trainer.components)) expect(await part.getState()).toBeDefined();
    expect(trainer.config).toMatchObject({ epochs: 3, seed: 0, fuse: true, rank: 0 });
    expect(trainer.getHooks()).toEqual([remembering]);
    expect(trainer.result).toBeUndefined();
  });

  it("test_trainer_initialization: config, then the task, then hooks, each checked before the next is made", () => {
    const codeOf = (options: object): unknown => {
      try {
        return new Trainer(options as never) && "made";
      } catch (error) {
        return (error as { readonly code?: string }).code;
      }
    };
    const made: string[] = [];
    const noted: TrainerHook = {
      name: "noted",
      onRegister: () => void made.push("set up"),
      onUnregister: () => void made.push("cleaned up"),
      onEpochEnd: () => {},
    };
    const wrong = { config: { epochs: -1 }, task: {}, hooks: [noted, {}] };
    expect(codeOf(wrong)).toBe("CONFIG_INVALID");
    expect(codeOf({ ...wrong, config: {} })).toBe("TASK_INVALID");
    expect(made).toEqual([]);
    expect(codeOf({ ...wrong, config: {}, task: taskOf() })).toBe("HOOK_NAMELESS");
    expect(made).toEqual(["set up", "cleaned up"]);
    // Of the task: data, then losses.
    const metrics = { loss: accuracy };
    expect(() => taskOf({ data: clouds(0), metrics })).toThrow(/DATA_EMPTY/);
    expect(() => taskOf({ metrics })).toThrow(/"loss".*OPTION_INVALID/s);
  });

  it("a state that a hook keeps stays as it was while the run goes on", async () => {
    const kept: TrainerState[] = [];
    const keep: TrainerHook = {
      name: "keep",
      onEpochEnd: ({ state }) => void kept.push(state),
    };
    await trainerOf({ epochs: 3 }, keep).train({ trainData: clouds(16), valData: clouds(8, 40) });
    expect(kept.map(({ counters }) => [counters.epoch, counters.epochs, counters.batches])).toEqual([
      [0, 1, 2],
      [1, 2, 4],
      [2, 3, 6],
    ]);
    expect(new Set(kept.map(({ validation }) => validation?.loss)).size).toBe(3);
  });

  it.each([
    [{ epochs: -1 }, /epochs is -1/],
    [{ batchSize: 0 }, /batchSize is 0/],
    [{ learningRate: Number.NaN }, /learningRate is NaN/],
    [{ accumulate: 1.5 }, /accumulate is 1.5/],
    [{ learning_rate: 0.1 }, /"learning_rate"; did you mean "learningRate".*CONFIG_UNKNOWN/s],
  ])(
    "test_trainer_validation_fails_with_invalid_config: refuses %j before anything is set up",
    (config, message) => {
      expect(() => trainerOf(config as never)).toThrow(message);
      expect(() => trainerOf(config as never)).toThrow(/fix: /);
    },
  );

  it("test_trainer_custom_hooks: hooks of one's own run when they are due", async () => {
    const told: string[] = [];
    const custom: TrainerHook = {
      name: "custom",
      onEpochEnd: async ({ counters, state }) => {
        const metrics = await state.metrics();
        told.push(`epoch ${counters.epoch}: ${Object.keys(metrics ?? {}).sort()}`);
      },
    };
    class Second extends PeriodicHook<TrainerContext> {
      override run({ counters }: TrainerContext) {
        told.push(`${counters.epochs} epochs`);
      }
    }
    // One hook, as 003 gives it, and several.
    await trainerOf({ epochs: 1 }, custom).train({ trainData: clouds(16) });
    await trainerOf({ epochs: 2 }, [custom, new Second({ schedule: every({ epochs: 2 }) })]).train({
      trainData: clouds(16),
    });
    const epoch = (n: number) => `epoch ${n}: accuracy,loss`;
    expect(told).toEqual([epoch(0), epoch(0), epoch(1), "2 epochs"]);
  });

  it("test_trainer_train_completes_all_epochs: counts epochs, batches, updates and examples", async () => {
    const result = await trainerOf({ epochs: 3 }).train({ trainData: clouds(20) });
    expect(result).toMatchObject({ outcome: "completed", reason: undefined, error: undefined });
    expect(result.counters).toMatchObject({ epoch: 2, epochs: 3, batches: 9, updates: 9, samples: 60 });
    expect(Number.isFinite(result.metrics.loss)).toBe(true);
  });

  it("test_trainer_train_with_validation: unseen examples are measured when that is due", async () => {
    const validated: number[] = [];
    const note: TrainerHook = {
      name: "note",
      onValidationEnd: ({ counters }) => void validated.push(counters.epochs),
    };
    const trainer = trainerOf({ epochs: 6, learningRate: 0.05, validate: every({ epochs: 3 }) }, note);
    const { validation } = await trainer.train({ trainData: clouds(32), valData: clouds(11, 40) });
    expect(validated).toEqual([3, 6]);
    expect(validation?.accuracy).toBeGreaterThan(0.9);
    expect(validation?.loss).toBeLessThan(0.6);
  });

  it("test_trainer_checkpoint_saving_at_intervals: the whole state is on disk at its times", async () => {
    const directory = temporaryDirectory();
    const save = checkpointHook({ directory, schedule: every({ epochs: 2 }) });
    const trainer = trainerOf({ epochs: 5 }, save);
    await trainer.train({ trainData: clouds(16), valData: clouds(8, 40) });
    const all = await new CheckpointManager({ store: localStore(directory) }).list();
    expect(all.map(({ name }) => name)).toEqual([
      "epoch-0002-update-000004",
      "epoch-0004-update-000008",
      "epoch-0005-update-000010", // What came after the last interval.
    ]);
    const [early, late] = all.map(({ manifest }) => manifest);
    expect(Object.keys(early?.components ?? {}).sort()).toEqual(
      Object.keys(trainer.trainer.components).sort(),
    );
    expect(early?.components.params?.sha256).not.toBe(late?.components.params?.sha256);
    expect(early?.metrics).toMatchObject({ loss: expect.any(Number), accuracy: expect.any(Number) });
    expect(early?.scores).toMatchObject({ "validation.loss": expect.any(Number) });
    // What was frozen has not moved on with the run: going on from it gives the same end.
    const again = trainerOf({ epochs: 5 });
    await again.train({
      ...{ trainData: clouds(16), valData: clouds(8, 40) },
      resumeFrom: join(directory, "epoch-0002-update-000004"),
    });
    expect(
      await firstDifference(lasting(await again.state()), lasting(await trainer.state())),
    ).toBeUndefined();
  });

  it("test_trainer_hook_invocation_order: hooks hear of every moment in the order of the loop", async () => {
    const order: string[] = [];
    const handlers = trainerEvents.map((event) => [event, () => void order.push(event)]);
    const recorder: TrainerHook = { name: "recorder", ...Object.fromEntries(handlers) };
    await trainerOf({ epochs: 2 }, recorder).train({ trainData: clouds(16), valData: clouds(8) });
    const batch = ["onBatchStart", "onBatchesEnd", "onBatchEnd"];
    const validation = ["onValidationStart", "onValidationEnd"];
    const epoch = ["onEpochStart", ...batch, ...batch, "onTrainPhaseEnd", ...validation, "onEpochEnd"];
    expect(order).toEqual(["onTrainingStart", ...epoch, ...epoch, "onTrainingEnd"]);
  });

  it("test_trainer_works_with_simplenamespace_config: takes any object with some of the fields", async () => {
    class Legacy {
      epochs = 2;
      batchSize = 4;
    }
    class Getters {
      get epochs() {
        return 2;
      }
      get batchSize() {
        return 4;
      }
    }
    const hidden = Object.defineProperties({}, { epochs: { get: () => 2 }, batchSize: { value: 4 } });
    const bare = Object.assign(Object.create(null), new Legacy());
    for (const config of [new Legacy(), bare, new Getters(), Object.create(new Legacy()), hidden]) {
      const trainer = supervisedTrainer({ model, trainingConfig: config, engine: "wasm" });
      expect(trainer.config).toMatchObject({ epochs: 2, batchSize: 4, seed: 0, learningRate: 1e-3 });
      expect((await trainer.train({ trainData: clouds(8) })).counters.updates).toBe(4);
    }
    const own = Object.assign(new Getters(), { patience: 3 });
    expect(() => supervisedTrainer({ model, trainingConfig: own, engine: "wasm" })).toThrow(
      /"patience".*CONFIG_UNKNOWN/,
    );
  });

  it("test_trainer_without_task_spec: the targets decide what is learnt", async () => {
    const { x, y } = clouds(16);
    const classes = await trainerOf().train({ trainData: { x, y } });
    expect(Object.keys(classes.metrics).sort()).toEqual(["accuracy", "loss"]);
    const named = supervisedTrainer({
      ...{ model, trainingConfig: { batchSize: 8 }, engine: "wasm" },
      taskSpec: { modality: "vision" },
    });
    expect((await named.train({ trainData: { x, y } })).metrics).toEqual(classes.metrics);
    const numbers = { data: Float32Array.from({ length: 32 }, (_, i) => i / 32), shape: [16, 2] };
    expect(Object.keys((await trainerOf().train({ trainData: { x, y: numbers } })).metrics)).toEqual([
      "loss",
    ]);
  });

  it("test_trainer_handles_empty_dataset_gracefully: says so, or ends at once where told", async () => {
    await expect(trainerOf().train({ trainData: clouds(0) })).rejects.toThrow(
      /no examples.*DATA_EMPTY.*fix: /s,
    );
    const result = await trainerOf({ onEmpty: "finish", epochs: 4 }).train({ trainData: clouds(0) });
    expect(result).toMatchObject({ outcome: "completed", reason: "epoch 0 has no batches", metrics: {} });
    expect(result.counters).toMatchObject({ epochs: 0, batches: 0, samples: 0 });
  });

  it("test_trainer_handles_missing_validation_gracefully: trains without it, and validates never", async () => {
    const heard: string[] = [];
    const listen: TrainerHook = {
      name: "listen",
      onValidationStart: ({ event }) => void heard.push(event),
      onValidationEnd: ({ event }) => void heard.push(event),
    };
    const result = await trainerOf({ epochs: 2 }, listen).train({ trainData: clouds(16) });
    expect(result).toMatchObject({ outcome: "completed", validation: undefined });
    expect(heard).toEqual([]);
  });

  it("test_trainer_integration_end_to_end: learns, validates, logs and tells how it went", async () => {
    const logged: { readonly owner: string; readonly loss: unknown }[] = [];
    const task = taskOf({
      validation: clouds(20, 40),
      learningRate: cosine({ from: 0.05, to: 0, over: { epochs: 8 } }),
    });
    const trainer = new Trainer({
      ...{ task, config: { epochs: 8, name: "clouds", handleSignals: false } },
      hooks: [
        loggingHook<TrainerEvents>({
          schedule: every({ epochs: 1 }),
          values: ({ state }) => state.metrics(),
        }),
      ],
      logger: { as: (owner) => ({ log: ({ loss }) => logged.push({ owner, loss }) }) },
    });
    const { outcome, run, counters, metrics, validation, timings } = await trainer.train();
    expect([outcome, run, counters.epochs, counters.updates]).toEqual(["completed", "clouds", 8, 32]);
    expect(logged.map(({ owner }) => owner)).toEqual(Array.from({ length: 8 }, () => "logging"));
    expect(logged.at(-1)?.loss).toBe(metrics.loss);
    expect(metrics.loss).toBeLessThan(0.5 * Number(logged[0]?.loss));
    expect(validation?.accuracy).toBe(1);
    expect(timings.phases.validation.calls).toBe(8);
    expect(timings.hooks).toMatchObject([{ hook: "logging", count: 8 }]);
    const outputs = await task.predict(clouds(2).x).read();
    expect([outputs[0] as number, outputs[3] as number]).toEqual([
      Math.max(...outputs.slice(0, 2)),
      Math.max(...outputs.slice(2)),
    ]);
  });

  it("test_trainer_gradient_accumulation: two batches of four make the update of one of eight", async () => {
    const outputs = async (batchSize: number, accumulate: number) => {
      const trainer = trainerOf({ epochs: 2, batchSize, accumulate });
      const { counters } = await trainer.train({ trainData: clouds(24) });
      expect(counters).toMatchObject({ updates: 6, samples: 48 });
      return [...(await trainer.task.predict(clouds(6).x).read())];
    };
    const [whole, parts] = [await outputs(8, 1), await outputs(4, 2)];
    whole.forEach((value, i) => {
      expect(parts[i]).toBeCloseTo(value, 5);
    });
    expect(await outputs(8, 1)).toEqual(whole);
  });

  it("test_trainer_respects_training_config_settings: batch size, epochs, seed, rate and limits are kept to", async () => {
    const run = async (config: Partial<SupervisedConfig>) => {
      const trainer = trainerOf(config);
      const { counters, reason } = await trainer.train({ trainData: clouds(24) });
      return { counters, reason, params: (await trainer.state()).params as StateTree };
    };
    const same = async (a: Partial<SupervisedConfig>, b: Partial<SupervisedConfig>) =>
      (await firstDifference((await run(a)).params, (await run(b)).params)) === undefined;
    expect((await run({ batchSize: 5, epochs: 2 })).counters).toMatchObject({ batches: 10, samples: 48 });
    expect((await run({ batchSize: 5, lastBatch: "drop" })).counters.samples).toBe(20);
    expect(await run({ epochs: 9, maxUpdates: 4 })).toMatchObject({
      ...{ counters: { updates: 4 }, reason: "maxUpdates of 4 reached" },
    });
    expect(await same({ seed: 3 }, { seed: 3 })).toBe(true);
    expect(await same({ seed: 3 }, { seed: 4 })).toBe(false);
    expect(await same({ learningRate: 0 }, { epochs: 0 })).toBe(true);
    expect(await same({ learningRate: 0.1 }, { learningRate: 0.2 })).toBe(false);
  });

  // One of the two that failed there.
  it("test_trainer_resume_from_checkpoint: goes on where another run stopped, with the same numbers", async () => {
    const [whole, first, second] = [losses(), losses(), losses()];
    const directory = temporaryDirectory();
    const trainData = clouds(28);
    const config = { epochs: 3, seed: 2 };
    const uninterrupted = trainerOf(config, whole.hook);
    await uninterrupted.train({ trainData });
    const stopping: TrainerHook = {
      name: "stopping",
      // The second of the second epoch's four.
      onBatchEnd: ({ counters, stop }) => (counters.batches === 6 ? stop("enough") : undefined),
    };
    const saved = [first.hook, stopping, checkpointHook({ directory })];
    const broken = await trainerOf(config, saved).train({ trainData });
    expect(broken).toMatchObject({
      outcome: "stopped",
      reason: "enough",
      counters: { batches: 6, epochs: 1 },
    });
    const resumed = trainerOf(config, second.hook);
    // The run directory: its newest whole checkpoint.
    const result = await resumed.train({
      trainData,
      resumeFrom: directory,
      resume: { allow: ["stopped"] },
    });
    expect(result).toMatchObject({ outcome: "completed", counters: { epochs: 3, batches: 12, samples: 84 } });
    expect(whole.seen).toHaveLength(12);
    expect([...first.seen, ...second.seen]).toEqual(whole.seen);
    const [end, expected] = [lasting(await resumed.state()), lasting(await uninterrupted.state())];
    expect(await firstDifference(end, expected)).toBeUndefined();
  });

  it("test_trainer_resume_from_checkpoint: refuses another set-up, and takes over parameters alone where told", async () => {
    const directory = temporaryDirectory();
    const trainData = clouds(16);
    await trainerOf({ epochs: 1 }, checkpointHook({ directory })).train({ trainData });
    const other = trainerOf({ epochs: 2, batchSize: 4, learningRate: 0.5 });
    await expect(other.train({ trainData, resumeFrom: directory })).rejects.toThrow(
      /ramps.learningRate is "constant 0.001" in the checkpoint and "constant 0.5" here.*task.batchSize is 8 in the checkpoint and 4 here/s,
    );
    const warm = await other.train({ trainData, resumeFrom: directory, resume: { mode: "warmStart" } });
    expect(warm.counters).toMatchObject({ epochs: 2, updates: 8 });
  });

  // The other one that failed there.
  it("test_trainer_validation_hook_called: the hook gets validation's metrics under the names they have", async () => {
    const heard: { readonly epoch: number; readonly phase: string; readonly metrics: unknown }[] = [];
    const hook: TrainerHook = {
      name: "listen",
      onValidationEnd: ({ counters, state }) => {
        heard.push({ epoch: counters.epoch, phase: state.phase, metrics: state.validation });
      },
    };
    const { validation } = await trainerOf({ epochs: 2 }, hook).train({
      ...{ trainData: clouds(16), valData: clouds(8, 40) },
    });
    const metrics = { loss: expect.any(Number), accuracy: expect.any(Number) };
    expect(heard).toEqual([
      { epoch: 0, phase: "validation", metrics },
      { epoch: 1, phase: "validation", metrics },
    ]);
    expect(heard[1]?.metrics).toEqual(validation);
    expect(heard[0]?.metrics).not.toEqual(validation);
  });
});

/** What 000 asks for before the contract is called finished: the hooks of 001, thrown together against it. */
describe("documents 000 and 001", () => {
  it("MetricsHook, CheckpointHook and EvaluationHook work together without knowing each other", async () => {
    const order: string[] = [];
    const losses: number[] = [];
    const metrics: TrainerHook = {
      name: "metrics",
      wants: [evaluationScores],
      provides: [rolloutStats],
      onBatchesEnd: async ({ values, slots }) => {
        const { loss = [], reward = [] } = (await values?.read()) ?? {};
        losses.push(...loss);
        if (reward.length > 0) slots.set(rolloutStats, { rewards: reward.length, last: reward.at(-1) ?? 0 });
      },
      onEpochEnd: ({ slots, log }) => {
        order.push("metrics");
        const { rewards } = slots.get(rolloutStats) ?? {};
        log({ losses: losses.splice(0).length, rewards, score: slots.get(evaluationScores)?.scores.w });
      },
    };
    const kept = new Map<string, Frozen>();
    const checkpoint: TrainerHook = {
      name: "checkpoint",
      schedule: every({ epochs: 2 }),
      wants: [evaluationScores, rolloutStats],
      provides: [latestCheckpoint],
      onEpochEnd: async ({ counters, slots, snapshot }) => {
        order.push("checkpoint");
        const path = `epoch ${counters.epochs}, score ${slots.get(evaluationScores)?.scores.w}`;
        kept.set(path, await snapshot());
        slots.set(latestCheckpoint, { path, uri: null, counters });
      },
    };
    const evaluated: unknown[] = [];
    const evaluation: TrainerHook = {
      name: "evaluation",
      schedule: every({ epochs: 2 }),
      provides: [evaluationScores],
      onEpochEnd: async ({ counters, slots, snapshot }) => {
        order.push("evaluation");
        evaluated.push(slots.previous(latestCheckpoint)?.counters.epochs);
        const { parameters } = (await snapshot(["parameters"])).components;
        slots.set(evaluationScores, { scores: { w: (parameters as { readonly w: number }).w }, counters });
      },
    };
    const logged: unknown[] = [];
    const task = new FakeTask({ epoch: () => [rollout(2), train(3)] });
    const trainer = new Trainer({
      task,
      config: { epochs: 4, handleSignals: false },
      // The order of registration is the wrong one.
      hooks: [checkpoint, metrics, evaluation],
      logger: { as: () => ({ log: (values) => logged.push(values) }) },
    });
    await trainer.train();
    expect(order).toEqual(["metrics", "evaluation", "metrics", "checkpoint", ...order.slice(0, 4)]);
    const scores = [...kept.values()].map(({ components }) => (components.parameters as { w: number }).w);
    const each = { losses: 3, rewards: 2 };
    expect(logged).toEqual([undefined, scores[0], scores[0], scores[1]].map((score) => ({ ...each, score })));
    expect(scores[1]).toBe(task.w);
    expect([...kept.keys()]).toEqual([`epoch 2, score ${scores[0]}`, `epoch 4, score ${scores[1]}`]);
    // An evaluation elsewhere takes the newest checkpoint there was: no reference, no order.
    expect(evaluated).toEqual([undefined, 2]);
  });
});
