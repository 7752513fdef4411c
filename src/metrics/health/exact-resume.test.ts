import { describe, expect, it } from "vitest";
import { hashesOf, stopAt } from "../../checkpoint/hook/runs.test-support.ts";
import { checkpointHook, memoryStore } from "../../checkpoint/index.ts";
import { nn } from "../../index.ts";
import { adam } from "../../optim/index.ts";
import { every } from "../../schedule/index.ts";
import { supervisedTask } from "../../supervised/index.ts";
import { Trainer, type TrainerHook } from "../../trainer/index.ts";
import { gradientMonitor, lossSpikeDetector } from "../index.ts";
import { Logger } from "../logger/logger.ts";

/** A run on wasm with noisy targets: 40 batches an epoch, some of them far off. */
function trainerOf(hooks: readonly TrainerHook[], store = memoryStore()): Trainer {
  const task = supervisedTask({
    model: nn.dense(1),
    optimizer: adam({ learningRate: 0.01 }),
    data: {
      x: Float32Array.from({ length: 80 }, (_, i) => Math.sin(i)),
      y: Float32Array.from({ length: 80 }, (_, i) => (i % 9 === 4 ? 30 : Math.cos(i))),
    },
    loss: (output, target) => output.sub(target).square().mean(),
    batchSize: 2,
    engine: "wasm",
    seed: 3,
    monitor: { gradients: true },
  });
  const logger = new Logger({ sinks: [{ name: "none", schedule: every({ steps: 1000 }), write: () => {} }] });
  return new Trainer({
    task,
    hooks: [
      gradientMonitor(),
      lossSpikeDetector(),
      checkpointHook({ store, schedule: every({ updates: 30 }), allow: ["stopped"] }),
      { name: "logger", state: logger, onTrainingStart: () => {} },
      ...hooks,
    ],
    config: { epochs: 3, handleSignals: false },
    logger,
    warn: () => undefined,
  });
}

describe("a run that was stopped and goes on", () => {
  it.each([30, 47, 64, 80])("after %i batches has the state of one that was not", async (batches) => {
    const nobody = stopAt(-1);
    const whole = trainerOf([nobody]);
    await whole.train();
    const expected = await hashesOf(whole);
    expect(Object.keys(expected)).toEqual(
      expect.arrayContaining(["hook.gradients", "hook.lossSpikes", "slots"]),
    );
    const store = memoryStore();
    await trainerOf([stopAt(batches)], store).train();
    const second = trainerOf([nobody], store);
    await second.train();
    expect(await hashesOf(second)).toEqual(expected);
  });
});
