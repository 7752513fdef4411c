import { expect, it } from "vitest";
import { temporaryDirectory } from "../checkpoint/hook/runs.test-support.ts";
import { checkpointHook, localStore } from "../checkpoint/index.ts";
import { grpoLoss } from "../language/index.ts";
import * as optim from "../optim/index.ts";
import { every } from "../schedule/index.ts";
import { Trainer } from "../trainer/index.ts";
import { model } from "./echo-worker.test-support.ts";
import { workerProcesses } from "./processes.ts";
import { languageTask } from "./text.ts";

it("a run with worker processes is interrupted and goes on, and uses no rollout twice", async () => {
  const store = localStore(temporaryDirectory());
  const names: string[] = [];
  const used: string[] = [];
  const counts: number[] = [];
  for (const maxUpdates of [5, undefined]) {
    const transport = workerProcesses({
      module: new URL("./echo-worker.test-support.ts", import.meta.url).href,
      count: 2,
      capacity: 2,
      started: (_pid, name) => names.push(name),
    });
    const { take } = transport;
    transport.take = async (options) => {
      const rollout = await take.call(transport, options);
      if (rollout) used.push(rollout.id);
      return rollout;
    };
    const task = languageTask({
      model,
      transport,
      losses: [grpoLoss()],
      optimizer: optim.adam({ learningRate: 0.01 }),
      batchSize: 2,
      updates: 2,
      maxStaleness: 8,
      keepUniform: true,
      engine: "wasm",
    });
    const trainer = new Trainer({
      task,
      config: { epochs: 8, seed: 3, handleSignals: false, ...(maxUpdates && { maxUpdates }) },
      hooks: [checkpointHook({ store, schedule: every({ updates: 1000 }) })],
      warn: () => {},
    });
    const { counters } = await trainer.train();
    await task.close();
    counts.push(counters.updates);
    expect(task.counts.future + task.counts.duplicates).toBe(0);
    expect(task.counts.rollouts + task.counts.stale).toBe(used.length);
  }
  expect(counts).toEqual([5, 16]);
  // Each process has a name of its own, those of the resumed run too.
  expect(new Set(names).size).toBe(4);
  expect(new Set(used).size).toBe(used.length);
}, 120_000);
