import { describe, expect, it } from "vitest";
import { np } from "../engine/index.ts";
import * as nn from "../nn/index.ts";
import { adam } from "../optim/index.ts";
import { dqnTask, ppo, tdLoss, vectorEnvironment } from "../rl/index.ts";
import { every } from "../schedule/index.ts";
import { supervisedTrainer } from "../supervised/index.ts";
import { Trainer, type TrainerHook } from "../trainer/index.ts";

/** A hook that writes down the epochs at which it runs. */
function noting(name: string) {
  const epochs: number[] = [];
  const hook: TrainerHook = {
    name,
    schedule: every({ epochs: 2 }),
    onEpochEnd: ({ counters }) => void epochs.push(counters.epochs),
  };
  return { epochs, hook };
}

describe("hooks that come with a loss", () => {
  it("run in supervised training, beside those of the run", async () => {
    const [ofLoss, ofRun] = [noting("of the loss"), noting("of the run")];
    const trainer = supervisedTrainer({
      model: nn.dense(1),
      loss: [
        {
          name: "fit",
          term: ({ outputs, batch }) => ({ loss: nn.mse(outputs, batch.y) }),
          hooks: [ofLoss.hook],
        },
      ],
      trainingConfig: { epochs: 4, batchSize: 4, handleSignals: false },
      hooks: [ofRun.hook],
      engine: "wasm",
    });
    await trainer.train({ trainData: { x: [[0], [1], [2], [3]], y: [[0], [1], [2], [3]] } });
    expect(ofLoss.epochs).toEqual([2, 4]);
    expect(ofRun.epochs).toEqual([2, 4]);
  });

  it("run in reinforcement learning", async () => {
    const { epochs, hook } = noting("of the loss");
    const agent = ppo({
      env: "CartPole-v1",
      ...{ environments: 2, rolloutSteps: 8, minibatches: 1, updateEpochs: 1, engine: "wasm" },
      policy: { encoder: { kind: "mlp", hidden: [4] } },
      losses: [
        {
          name: "calm",
          term: ({ outputs }) => ({ loss: np.mean(outputs.entropy) }),
          weight: 0,
          hooks: [hook],
        },
      ],
    });
    await agent.train({ steps: 64, config: { handleSignals: false } });
    expect(epochs).toEqual([2, 4]);
  });

  it("run in learning from a replay buffer", async () => {
    const { epochs, hook } = noting("of the loss");
    const task = dqnTask({
      env: vectorEnvironment({ make: "CartPole-v1", count: 2 }),
      policy: { encoder: { kind: "mlp", hidden: [4] }, towers: "shared" },
      optimizer: adam({ learningRate: 0.01 }),
      losses: [{ ...tdLoss(), hooks: [hook] }],
      rolloutSteps: 4,
      batchSize: 8,
      capacity: 100,
      learningStarts: 8,
      epsilon: 0.5,
      engine: "wasm",
    });
    await new Trainer({ task, config: { epochs: 4, handleSignals: false } }).train();
    expect(epochs).toEqual([2, 4]);
  });
});
