import { describe, expect, it } from "vitest";
import { memoryStore } from "../checkpoint/index.ts";
import { np, put, type Value } from "../engine/index.ts";
import { sweepEngines } from "../engine/run/engines.test-support.ts";
import { gradientMonitor } from "../metrics/index.ts";
import * as nn from "../nn/index.ts";
import * as optim from "../optim/index.ts";
import { every } from "../schedule/index.ts";
import { cuts, failureOf, failuresOf } from "../trainer/finite.test-support.ts";
import type { TrainerHook, TrainingConfig } from "../trainer/index.ts";
import { examples } from "./drive.test-support.ts";
import type { SupervisedOptions } from "./options.ts";
import { supervisedTask } from "./task.ts";
import { supervisedTrainer } from "./trainer.ts";

describe.each(sweepEngines())("an update that is not finite on %s", (engine) => {
  type Options = Partial<SupervisedOptions<Value, Value, Value>>;
  const task = (more: Options = {}) =>
    supervisedTask({
      ...{ model: nn.dense(2), optimizer: optim.sgd(), loss: nn.mse, batchSize: 2, shuffle: false, engine },
      data: examples([10, 3], [10, 2]),
      ...more,
    });
  /** On the device, where nobody looks at them: the 4th example of 5 batches of 2 has a NaN. */
  const badInputs = () => {
    const { x, y } = examples([10, 3], [10, 2]);
    x.data[7 * 3] = Number.NaN;
    return { x: put(x.data, { shape: x.shape, engine }), y };
  };
  const badLabels = () => ({
    x: examples([10, 3], [10]).x,
    y: put(Int32Array.of(0, 1, 0, 1, 0, 1, 0, 1, 2, 0), { engine }),
  });

  it.each<[string, () => Options, Partial<TrainingConfig>, number, RegExp]>([
    ["a NaN among the inputs", () => ({ data: badInputs() }), {}, 4, /^loss was NaN in update 4 /],
    [
      "a label that is no class",
      () => ({ data: badLabels(), loss: nn.crossEntropy }),
      { epochs: 2 },
      5,
      /^loss was NaN in update 5 /,
    ],
    [
      "one of several terms",
      () => ({
        loss: [
          { name: "fit", term: ({ outputs, batch }) => ({ loss: nn.mse(outputs, batch.y) }) },
          { name: "log", term: ({ batch }) => ({ loss: np.mean(np.log(batch.x)) }) },
        ],
      }),
      {},
      1,
      /^log\.loss was NaN in update 1 /,
    ],
    [
      "parameters, while the loss is still finite",
      () => ({ learningRate: 3e38, data: { x: ones([10, 3], 9), y: ones([10, 2], 1) } }),
      {},
      1,
      /^parameters were not finite after update 1 /,
    ],
  ])("%s: the run fails at it, however it is cut", async (_name, more, config, update, message) => {
    const run = failuresOf(task(more()), config);
    for (const [name, cut] of Object.entries(cuts())) {
      const failure = await run(cut);
      expect(failure, name).toMatchObject({ outcome: "failed", code: "NON_FINITE", same: true });
      expect(failure.message, name).toMatch(message);
      expect(failure.message).toMatch(/learning rate.*skipNonFinite.*onNonFinite/s);
      expect(failure.counters, name).toMatchObject({ updates: update, batches: update, samples: 2 * update });
      expect(failure.seen, name).toEqual({ onError: failure.counters, onTrainingEnd: failure.counters });
      expect(failure.warnings, name).toEqual([]);
    }
  });

  it.each([-1, 1e6])("a learning rate of %d fails at the same update in every cut", async (learningRate) => {
    const facts = new Set<string>();
    const run = failuresOf(task({ learningRate }), { epochs: 200 });
    for (const cut of Object.values(cuts())) {
      const { code, message, counters } = await run(cut);
      expect(code).toBe("NON_FINITE");
      expect(counters?.updates).toBeGreaterThan(1);
      expect(counters?.updates).toBeLessThan(1000);
      facts.add(JSON.stringify({ message, counters }));
    }
    expect([...facts]).toHaveLength(1);
  });

  it.each([
    [1, "HOOK_FAILED", /gradients were not finite in update 4/],
    [3, "NON_FINITE", /^loss was NaN in update 4 /],
  ])(
    "a gradient monitor that bears %d speaks first where it has seen enough, in every cut",
    async (notFinite, code, message) => {
      const run = failuresOf(task({ data: badInputs(), monitor: { gradients: true } }), { epochs: 3 });
      for (const [name, cut] of Object.entries(cuts())) {
        const monitor = gradientMonitor({ halt: { notFinite } });
        const failure = await run({ ...cut, hooks: [...(cut.hooks ?? []), monitor] });
        expect(failure, name).toMatchObject({ outcome: "failed", code });
        expect(failure.message, name).toMatch(message);
      }
    },
  );

  it("leaves no checkpoint from after it, and a resumed run fails at the same update", async () => {
    const store = memoryStore();
    const first = await failureOf(task({ data: badInputs() }), { store }, {});
    expect(await store.list()).toEqual(["epoch-0000-update-000002"]);
    const resumed = await failureOf(task({ data: badInputs() }), { store }, {});
    expect(resumed).toEqual(first);
    expect(first.counters).toMatchObject({ updates: 4 });
  });

  it("is found before validation and by snapshots of hooks that only warn when they fail", async () => {
    const validated = await failureOf(
      task({ data: badInputs(), validation: examples([4, 3], [4, 2]) }),
      { hooks: [{ name: "late", onValidationEnd: () => expect.unreachable() }] },
      { epochs: 3 },
    );
    expect(validated.counters).toMatchObject({ updates: 4, epochs: 0 });
    const looks: TrainerHook = {
      name: "looks",
      onFailure: "warn",
      schedule: every({ updates: 5 }),
      onBatchEnd: async ({ snapshot }) => void (await snapshot(["params"])),
    };
    const looked = await failureOf(task({ data: badInputs() }), { hooks: [looks] }, { epochs: 3 });
    expect(looked).toMatchObject({ code: "NON_FINITE", counters: { updates: 4 } });
  });

  it("is said once and trained on with onNonFinite: warn, and no matter with ignore", async () => {
    const run = (onNonFinite: TrainingConfig["onNonFinite"]) =>
      failuresOf(task({ data: badInputs() }), { epochs: 3, onNonFinite });
    const warns = run("warn");
    for (const cut of Object.values(cuts())) {
      const warned = await warns(cut);
      expect(warned).toMatchObject({ outcome: "completed", counters: { updates: 15 } });
      expect(warned.warnings).toEqual([expect.stringMatching(/^loss was NaN in update 4 .*NON_FINITE/s)]);
    }
    expect(await run("ignore")({})).toMatchObject({ outcome: "completed", warnings: [] });
  });

  it("is none where skipNonFinite left it out", async () => {
    const skipping = task({ data: badInputs(), optimizer: optim.skipNonFinite(optim.sgd()) });
    const { outcome, counters } = await failureOf(skipping, {}, { epochs: 2 });
    expect(outcome).toBe("completed");
    expect(counters).toMatchObject({ updates: 10 });
  });

  it("is a choice of supervisedTrainer's configuration too", async () => {
    const trainer = (onNonFinite: TrainingConfig["onNonFinite"]) =>
      supervisedTrainer({
        model: nn.dense(2),
        trainingConfig: { batchSize: 2, onNonFinite, skipNonFinite: false, handleSignals: false },
        engine,
      }).train({ trainData: badInputs() });
    await expect(trainer("stop")).rejects.toMatchObject({ code: "NON_FINITE" });
    expect((await trainer("ignore")).outcome).toBe("completed");
    await expect(async () => trainer("halt" as never)).rejects.toMatchObject({ code: "CONFIG_INVALID" });
  });
});

const ones = (shape: readonly number[], value: number) => ({
  data: new Float32Array(shape.reduce((a, b) => a * b, 1)).fill(value),
  shape,
});
