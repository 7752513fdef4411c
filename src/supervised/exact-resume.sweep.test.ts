import { describe, expect, it } from "vitest";
import {
  beforeCommit,
  countingHook,
  hashesOf,
  temporaryDirectory,
} from "../checkpoint/hook/runs.test-support.ts";
import { type CheckpointStore, checkpointHook, localStore } from "../checkpoint/index.ts";
import { np } from "../engine/index.ts";
import { sweepEngines } from "../engine/run/engines.test-support.ts";
import { deferred } from "../hooks/hooks.test-support.ts";
import * as nn from "../nn/index.ts";
import * as optim from "../optim/index.ts";
import { byMetric, cycle, every, linear } from "../schedule/index.ts";
import { Trainer, type TrainerHook, type TrainingConfig } from "../trainer/index.ts";
import { examples } from "./drive.test-support.ts";
import { supervisedTask } from "./task.ts";

/** Everything that could go wrong at once: 7 updates an epoch, the last of them smaller. */
function made(
  engine: "wasm" | "xla",
  store: CheckpointStore | undefined,
  more: readonly TrainerHook[] = [],
  config: Partial<TrainingConfig> = {},
) {
  const task = supervisedTask({
    engine,
    model: nn.sequential([nn.dense(8), nn.tanh, nn.dropout(0.3), nn.dense(1)]),
    optimizer: optim.chain(optim.clipByGlobalNorm(1), optim.adam({ learningRate: 0.01 })),
    data: examples([54, 3], [54, 1]),
    validation: examples([10, 3], [10, 1]),
    loss: [
      { name: "fit", term: ({ outputs, batch }) => ({ loss: nn.mse(outputs, batch.y) }) },
      {
        name: "small",
        weight: linear({ from: 0.5, to: 0.1, over: { updates: 30 } }),
        active: { train: cycle({ epochs: 3, active: [2] }) },
        term: ({ outputs }) => ({ loss: np.mean(np.square(outputs)) }),
      },
    ],
    batchSize: 4,
    accumulate: 2,
    learningRate: byMetric({ metric: "train/loss", initial: 0.02, transform: (x) => x / 50, ema: 0.5 }),
  });
  const trainer = new Trainer({
    task,
    config: { epochs: 4, seed: 11, handleSignals: false, validate: every({ epochs: 2 }), ...config },
    hooks: [
      countingHook("first", { schedule: every({ updates: 4 }) }),
      ...(store ? [checkpointHook({ store, schedule: every({ updates: 5 }) })] : []),
      countingHook("second", {
        schedule: every({ updates: 3 }),
        onBatchEnd: ({ random }) => void random.get("second").key(),
      }),
      ...more,
    ],
    warn: () => {},
  });
  return { trainer, task };
}

describe.each(sweepEngines())(
  "on %s, with shuffling, dropout, accumulation, a cycle of losses and a ramp that follows",
  (engine) => {
    it("a run that was broken off in the middle of an epoch ends with the same bits", async () => {
      const whole = made(engine, localStore(temporaryDirectory()));
      await whole.trainer.train();
      const expected = await hashesOf(whole.trainer);
      for (const [first, second] of [
        [3, 12],
        [10, 17],
      ] as const) {
        const store = localStore(temporaryDirectory());
        for (const maxUpdates of [first, second]) {
          const { trainer } = made(engine, store, [], {
            ...{ maxUpdates, fuse: maxUpdates === first },
            // Hooks hear of no validation that the whole run does not have.
            validateAtEnd: false,
          });
          expect((await trainer.train()).counters.updates).toBe(maxUpdates);
        }
        const last = made(engine, store);
        const result = await last.trainer.train();
        expect(result.counters).toMatchObject({ epochs: 4, updates: 28 });
        expect(await hashesOf(last.trainer)).toEqual(expected);
      }
    });

    it("what was frozen stays as it was while training goes on, until it is written", async () => {
      const expected = made(engine, undefined);
      await expected.trainer.train();
      const store = localStore(temporaryDirectory());
      const gate = deferred();
      const slow = checkpointHook({
        store: beforeFile(store, () => gate.promise),
        schedule: every({ updates: 3, until: 3 }),
      });
      const open: TrainerHook = {
        name: "open",
        schedule: every({ updates: 20 }),
        onBatchEnd: () => gate.resolve(),
      };
      await made(engine, undefined, [slow, open]).trainer.train();
      const [early] = [...(await store.list())].sort();
      expect(early).toBe("epoch-0000-update-000003");
      const resumed = made(engine, undefined, [checkpointHook({ store, onStart: early as string })]);
      await resumed.trainer.train();
      expect(await hashesOf(resumed.trainer)).toEqual(await hashesOf(expected.trainer));
    });

    it("a run that failed goes on from its last checkpoint", async () => {
      const whole = made(engine, localStore(temporaryDirectory()));
      await whole.trainer.train();
      const store = localStore(temporaryDirectory());
      const fail: TrainerHook = {
        name: "fail",
        onBatchEnd: ({ counters }) => {
          if (counters.updates === 13) throw new Error("power cut");
        },
      };
      await expect(made(engine, store, [fail]).trainer.train()).rejects.toThrow(/power cut/);
      const resumed = made(engine, store);
      await resumed.trainer.train();
      expect(await hashesOf(resumed.trainer)).toEqual(await hashesOf(whole.trainer));
    });
  },
);

/** The same store with a wait before each file that is written. */
function beforeFile(store: CheckpointStore, wait: () => Promise<void>): CheckpointStore {
  const waiting = beforeCommit(store, () => undefined);
  return {
    ...waiting,
    lock: async (holder) => {
      const lock = await waiting.lock(holder);
      const begin: typeof lock.begin = async (name) => {
        await wait();
        return lock.begin(name);
      };
      return { ...lock, begin };
    },
  };
}
