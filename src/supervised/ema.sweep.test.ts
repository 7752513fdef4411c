import { describe, expect, it } from "vitest";
import { hashesOf } from "../checkpoint/hook/runs.test-support.ts";
import { checkpointHook, memoryStore } from "../checkpoint/index.ts";
import type { Tensor } from "../engine/index.ts";
import { sweepEngines } from "../engine/run/engines.test-support.ts";
import * as nn from "../nn/index.ts";
import * as optim from "../optim/index.ts";
import { every, piecewise } from "../schedule/index.ts";
import { hashState, type StateTree } from "../state/index.ts";
import { emaHook, Trainer, type TrainerHook, type TrainingConfig } from "../trainer/index.ts";
import { FakeTask } from "../trainer/task.test-support.ts";
import { examples } from "./drive.test-support.ts";
import type { SupervisedOptions } from "./options.ts";
import { supervisedTask } from "./task.ts";

interface Given {
  readonly engine: "wasm" | "xla";
  readonly optimizer?: optim.Optimizer;
  readonly hooks?: readonly TrainerHook[];
  readonly config?: Partial<TrainingConfig>;
  readonly more?: Partial<SupervisedOptions>;
}

function made({ engine, optimizer = optim.adam({ learningRate: 0.02 }), hooks = [], config, more }: Given) {
  const task = supervisedTask({
    engine,
    model: nn.sequential([nn.dense(8), nn.tanh, nn.dropout(0.3), nn.dense(1)]),
    optimizer,
    data: examples([30, 3], [30, 1]),
    validation: examples([10, 3], [10, 1]),
    loss: nn.mse,
    batchSize: 4,
    ...more,
  });
  const trainer = new Trainer({
    task,
    config: { epochs: 2, seed: 3, handleSignals: false, ...config },
    hooks,
    warn: () => undefined,
  });
  return { task, trainer };
}

const ema = () => emaHook({ decay: 0.9 });

describe.each(sweepEngines())("emaHook on %s", (engine) => {
  it("keeps the average that optim.ema keeps, and changes nothing else", async () => {
    const hooked = made({ engine, hooks: [ema()] });
    const chained = made({
      engine,
      optimizer: optim.chain(optim.adam({ learningRate: 0.02 }), optim.ema({ decay: 0.9 })),
    });
    const plain = made({ engine });
    for (const { trainer } of [hooked, chained, plain]) await trainer.train();
    const state = (await chained.trainer.components.optimizer?.getState()) as optim.OptimizerState<Tensor>;
    const average = (await hooked.trainer.components.ema?.getState()) as StateTree;
    expect(await hashState(average)).toBe(await hashState(optim.treeIn(state, "average") as StateTree));
    const { ema: own, ...others } = await hashesOf(hooked.trainer);
    // XLA compiles another program, and rounds in other places.
    if (engine === "wasm") expect(others).toEqual(await hashesOf(plain.trainer));
    expect(own).not.toBe(others.params);
  });

  it("is the same fused or not, interrupted or not", async () => {
    const whole = made({ engine, hooks: [ema()] });
    await whole.trainer.train();
    const expected = await hashesOf(whole.trainer);
    const single = made({ engine, hooks: [ema()], config: { fuse: false } });
    await single.trainer.train();
    expect(await hashesOf(single.trainer)).toEqual(expected);
    const store = memoryStore();
    for (const maxUpdates of [5, 100]) {
      const hooks = [ema(), checkpointHook({ store, schedule: every({ updates: 3 }) })];
      const { trainer } = made({ engine, hooks, config: { maxUpdates, validateAtEnd: false } });
      await trainer.train();
      if (maxUpdates === 100) expect(await hashesOf(trainer)).toEqual(expected);
    }
  });

  it("is what validation measures on request", async () => {
    const { trainer, task } = made({ engine, hooks: [emaHook({ decay: 0.9, validate: true })] });
    const { validation } = await trainer.train();
    const average = await trainer.components.ema?.getState();
    const other = made({ engine, more: { params: average as typeof task.params } });
    expect((await other.task.test(examples([10, 3], [10, 1]))).loss).toBe(validation?.loss);
    const raw = made({ engine, more: { params: task.params } });
    expect((await raw.task.test(examples([10, 3], [10, 1]))).loss).not.toBe(validation?.loss);
  });

  it("stands still in updates that are left out", async () => {
    const run = async (maxUpdates: number) => {
      const { trainer } = made({
        engine,
        optimizer: optim.skipNonFinite(optim.adam()),
        hooks: [ema()],
        config: { maxUpdates },
        more: {
          loss: {
            name: "fit",
            // From the fifth update on it is infinite.
            weight: piecewise({
              updates: [
                [0, 1],
                [4, 3e38],
              ],
            }),
            term: ({ outputs, batch }) => ({ loss: nn.mse(outputs, batch.y).mul(1e5) }),
          },
        },
      });
      const { counters } = await trainer.train();
      const { ema: average, params } = await hashesOf(trainer);
      return { updates: counters.updates, average, params };
    };
    const [four, eight] = [await run(4), await run(8)];
    expect([four.updates, eight.updates]).toEqual([4, 8]);
    expect(eight.average).toBe(four.average);
    expect(four.average).not.toBe(four.params);
  });
});

describe("emaHook", () => {
  it("refuses a task that keeps no average, and a second one", () => {
    expect(() => new Trainer({ task: new FakeTask(), hooks: [emaHook()] })).toThrow(/TASK_INVALID/);
    const hooks = [emaHook(), emaHook({ name: "other" })];
    expect(() => made({ engine: "wasm", hooks })).toThrow(/HOOK_INVALID/);
    expect(() => emaHook({ decay: 1 })).toThrow(/OPTION_INVALID/);
  });

  it("refuses to begin in the middle of a run, where it would reset the optimizer", async () => {
    const late = {
      name: "late",
      onEpochEnd: () => trainer.registerHook(emaHook()),
    };
    const { trainer } = made({ engine: "wasm", hooks: [late] });
    await expect(trainer.train()).rejects.toThrow(/HOOK_INVALID/);
  });
});
