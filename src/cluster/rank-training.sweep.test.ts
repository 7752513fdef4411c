import { readdirSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { temporaryDirectory } from "../checkpoint/hook/runs.test-support.ts";
import { type CheckpointStore, checkpointHook, memoryStore } from "../checkpoint/index.ts";
import { type EspalierError, treeLeaves } from "../core/index.ts";
import { np, put, type Tensor, type Value } from "../engine/index.ts";
import { sweepEngines } from "../engine/run/engines.test-support.ts";
import type { Loss } from "../losses/index.ts";
import type { Params } from "../nn/index.ts";
import * as nn from "../nn/index.ts";
import * as optim from "../optim/index.ts";
import { rolloutTask } from "../rollout/index.ts";
import { largestGenerator } from "../rollout/largest.test-support.ts";
import { cosine, every } from "../schedule/index.ts";
import { hashState } from "../state/index.ts";
import {
  accuracy,
  auc,
  countedLoss,
  f1,
  type SupervisedOptions,
  supervisedTask,
  supervisedTrainer,
} from "../supervised/index.ts";
import { describeInRest, describeInSample } from "../sweep.test-support.ts";
import { Trainer, type TrainerHook, type TrainerOptions, type TrainingResult } from "../trainer/index.ts";
import type { Ranks } from "./rank-group.ts";
import { MemoryServer } from "./ranks.test-support.ts";
import { type RanksOptions, trainOnRanks } from "./ranks.ts";

/** With shares that are powers of two ranks are exact; others XLA computes to rounding, as it joins products and sums. */
interface Case {
  readonly options: () => Omit<SupervisedOptions, "batchSize">;
  readonly exact: boolean;
}

const rows = 48;
const x = {
  data: Float32Array.from({ length: rows * 4 }, (_, i) => Math.sin(i * 12.9898)),
  shape: [rows, 4],
};
const y = Int32Array.from({ length: rows }, (_, i) => (i * 7 + (i >> 2)) % 3);
const data = { x, y };
/** The last update is of 14 rows. */
const uneven = { x: { data: x.data.subarray(0, 38 * 4), shape: [38, 4] }, y: y.subarray(0, 38) };
const weight = Float32Array.from({ length: rows }, (_, i) => (i < 6 ? 0 : (i * i) % 11));

const masked = countedLoss(
  (out: Value, target: Value) => nn.crossEntropy(out, target, { mask: np.notEqual(target, 2) }),
  (target: Value) => np.sum(np.notEqual(target, 2)),
);
const simple = { model: nn.dense(3), optimizer: optim.sgd({ learningRate: 0.1 }), loss: nn.crossEntropy };
const full = () => ({
  model: nn.sequential([nn.dense(8), nn.relu, nn.dropout(0.3), nn.dense(3)]),
  optimizer: optim.chain(optim.clipByGlobalNorm(1), optim.adam()),
  learningRate: cosine({ from: 0.05, to: 0, over: { epochs: 4 } }),
  data,
  loss: nn.crossEntropy,
  metrics: { accuracy, f1: f1() },
});

/** Models and losses, each of which ranks compute as micro-batches do. */
const cases: Readonly<Record<string, Case>> = {
  "dropout, clipping and Adam": { options: full, exact: true },
  "a smaller last update": { options: () => ({ ...simple, data: uneven }), exact: false },
  "a masked loss": { options: () => ({ ...simple, data, loss: masked }), exact: false },
  "weights of examples": {
    options: () => ({
      ...simple,
      optimizer: optim.skipNonFinite(optim.adam()),
      data: { ...data, weight },
      metrics: { accuracy },
    }),
    exact: false,
  },
};

interface Trained {
  readonly result: TrainingResult;
  readonly params: readonly number[];
  readonly hashes: Readonly<Record<string, string>>;
}

async function trained(options: TrainerOptions): Promise<Trained> {
  const result = await new Trainer({ warn: () => undefined, ...options }).train();
  const hashes: Record<string, string> = {};
  for (const [name, part] of Object.entries(options.task.components))
    hashes[name] = await hashState(await part.getState());
  const leaves = treeLeaves<Tensor>((await options.task.components.params?.getState()) as Params<Tensor>);
  const params = (await Promise.all(leaves.map((leaf) => leaf.read()))).flatMap((numbers) => [...numbers]);
  return { result, hashes, params };
}

/** Runs `train` on some ranks in this process. */
function inGroup<T>(
  count: number,
  train: (ranks: Ranks) => Promise<T>,
  options: Partial<RanksOptions> = {},
): Promise<T[]> {
  const server = new MemoryServer();
  const quick = { run: "test", ranks: count, gather: 0, grace: 0, patience: 30, warn: () => undefined };
  const one = (): Promise<T> => trainOnRanks({ ...quick, ...options, broker: server.connect() }, train);
  return Promise.all(Array.from({ length: count }, one));
}

/** Trains on some ranks in this process; each has a task of its own. */
const onRanks = (count: number, setUp: (ranks: Ranks) => TrainerOptions, options?: Partial<RanksOptions>) =>
  inGroup(count, (ranks) => trained({ ...setUp(ranks), ranks }), options);

describe.each(sweepEngines())("ranks on %s", (engine) => {
  const config = { epochs: 4, seed: 3 };

  describe.each(Object.entries(cases))("with %s", (_, { options, exact }) => {
    it.each(engine === "wasm" && !exact ? [3] : [2])(
      "%i of them compute what one process does in as many micro-batches",
      async (count) => {
        const cuts = [{ batchSize: 24 / count, accumulate: count }, { batchSize: 24 }];
        const make = (cut: object) =>
          supervisedTask({ ...options(), engine, maxFuse: 1, batchSize: 24, ...cut });
        const one = await trained({ task: make(cuts[0] as object), config });
        for (const cut of engine === "wasm" && exact ? cuts : cuts.slice(1)) {
          const all = await onRanks(count, () => ({ task: make(cut), config }));
          expect(new Set(all.map(({ hashes }) => JSON.stringify(hashes))).size).toBe(1);
          const [{ result, hashes, params }] = all as [Trained, ...Trained[]];
          if (exact || engine === "wasm") expect(hashes).toEqual(one.hashes);
          params.forEach((number, i) => {
            expect(number).toBeCloseTo(one.params[i] as number, 5);
          });
          expect(result.counters.updates).toBe(8);
          expect(Object.keys(result.metrics)).toEqual(Object.keys(one.result.metrics));
          for (const [name, value] of Object.entries(one.result.metrics))
            expect(result.metrics[name]).toBeCloseTo(value, 5);
        }
      },
    );
  });
});

describeInSample("a trainer with ranks", () => {
  const task = (options: Partial<SupervisedOptions> = {}) =>
    supervisedTask({ ...simple, data, engine: "wasm", batchSize: 10, ...options });

  it("runs hooks and saves on the main rank; another number of ranks, or one process, goes on from there", async () => {
    const store = memoryStore();
    const heard: number[] = [];
    const hooks = (): TrainerHook[] => [
      { name: "look", onEpochEnd: ({ counters }) => void heard.push(counters.epochs) },
      checkpointHook({ store, schedule: every({ epochs: 1 }) }),
    ];
    await onRanks(2, () => ({ task: task(), config: { epochs: 2 }, hooks: hooks() }));
    expect(heard).toEqual([1, 2]);
    expect((await store.list()).length).toBe(2);
    const all = await onRanks(3, () => ({ task: task(), config: { epochs: 3 }, hooks: hooks() }));
    expect(new Set(all.map(({ hashes }) => JSON.stringify(hashes))).size).toBe(1);
    expect(heard).toEqual([1, 2, 3]);
    const alone = await trained({ task: task(), config: { epochs: 4 }, hooks: hooks() });
    expect(alone.result.counters.epochs).toBe(4);
    expect(heard).toEqual([1, 2, 3, 4]);
  });

  it("ends all ranks at one update when one is stopped", async () => {
    const all = await onRanks(3, ({ rank }) => ({
      task: task(),
      config: { epochs: 100 },
      hooks: [
        {
          name: "stops",
          ranks: "all",
          onBatchEnd: ({ counters, stop }) => {
            if (rank === 1 && counters.batches === 7) stop("enough");
          },
        },
      ],
    }));
    expect(new Set(all.map(({ result }) => result.counters.updates)).size).toBe(1);
    expect(all[0]?.result.counters.updates).toBe(8);
    for (const { result } of all)
      expect([result.outcome, result.reason]).toEqual(["stopped", expect.stringContaining("enough")]);
    expect(new Set(all.map(({ hashes }) => JSON.stringify(hashes))).size).toBe(1);
  });

  it("stops at the end of the epoch in which the main rank's hook says so, and stays stopped", async () => {
    const store = memoryStore();
    const stop: TrainerHook = {
      name: "stops",
      onEpochEnd: ({ counters, stop }) => void (counters.epochs === 2 && stop("enough")),
    };
    const setUp = () => ({
      task: task(),
      config: { epochs: 9 },
      hooks: [stop, checkpointHook({ store, schedule: every({ epochs: 5 }) })],
    });
    for (let times = 0; times < 2; times++)
      for (const { result } of await onRanks(2, setUp))
        expect([result.outcome, result.counters.updates, result.counters.epochs]).toEqual(["stopped", 10, 2]);
    expect((await store.list()).length).toBe(1);
  });

  it("trains nothing where the main rank's hook stops it at the start", async () => {
    const stop: TrainerHook = { name: "stops", onTrainingStart: ({ stop }) => stop("not today") };
    for (const { result } of await onRanks(2, () => ({ task: task(), hooks: [stop] })))
      expect([result.outcome, result.counters.updates]).toEqual(["stopped", 0]);
  });

  it("ends at the limits that one process ends at", async () => {
    for (const { result } of await onRanks(2, () => ({ task: task(), config: { epochs: 9, maxUpdates: 7 } })))
      expect([result.outcome, result.counters.updates]).toEqual(["completed", 7]);
    const timed = await onRanks(2, () => ({ task: task(), config: { epochs: 9, maxSeconds: 1e-9 } }));
    for (const { result } of timed)
      expect([result.outcome, result.counters.updates]).toEqual(["completed", 2]);
  });

  it("takes rates of the main rank on all", async () => {
    const slow: TrainerHook = {
      name: "slow",
      onBatchEnd: ({ interventions }) => interventions.scaleRamp("learningRate", 0.5),
    };
    const all = await onRanks(2, () => ({ task: task(), config: { epochs: 2 }, hooks: [slow] }));
    const alone = await onRanks(2, () => ({ task: task(), config: { epochs: 2 } }));
    expect(all[0]?.hashes).toEqual(all[1]?.hashes);
    expect(all[0]?.hashes.params).not.toBe(alone[0]?.hashes.params);
  });

  it("sets parameters right that are not the main rank's, and says so", async () => {
    const said: string[] = [];
    const setUp = ({ rank }: Ranks): TrainerOptions => {
      const own = task();
      const astray: TrainerHook = {
        name: "astray",
        ranks: "all",
        onBatchEnd: async ({ counters }) => {
          if (rank !== 1 || counters.batches !== 2) return;
          const other = await task({ seed: 5 }).components.params?.getState();
          await own.components.params?.setState(other ?? null);
        },
      };
      return { task: own, config: { epochs: 2 }, hooks: [astray] };
    };
    const [one, two] = await onRanks(2, setUp, { warn: (text) => void said.push(text) });
    expect(one?.hashes).toEqual(two?.hashes);
    expect(said).toEqual([expect.stringMatching(/^rank 1 has other parameters than rank 0 after 5 updates/)]);
  });

  /** Three processes, of which the one that is rank `lost` is killed after 8 updates. Gives how the others end. */
  async function killing(lost: number, stores: readonly CheckpointStore[]) {
    const server = new MemoryServer();
    const quick = { run: "test", gather: 0.2, grace: 0, patience: 30, warn: () => undefined };
    const ends = stores.map((store) => {
      const broker = server.connect();
      const begun: number[] = [];
      const training = trainOnRanks({ ...quick, ranks: { min: 1, max: 3 }, broker }, (ranks) => {
        const dies: TrainerHook = {
          name: "dies",
          ranks: "all",
          onTrainingStart: ({ counters }) => void begun.push(counters.updates),
          onBatchEnd: ({ counters }) => {
            if (ranks.ranks < 3 || ranks.rank !== lost || counters.updates !== 8) return undefined;
            broker.kill();
            return new Promise(() => undefined);
          },
        };
        const save = checkpointHook({ store, schedule: every({ updates: 3 }), keep: { last: 2 } });
        return trained({ task: task(), config: { epochs: 4 }, hooks: [dies, save], ranks });
      });
      return training.then(
        ({ result, hashes }) => ({ begun, updates: result.counters.updates, hashes }),
        (error: EspalierError) => ({ begun, code: error.code }),
      );
    });
    return (await Promise.all(ends.map((end) => Promise.race([end, over(ends, 2)])))).filter(
      (end) => end !== undefined,
    );
  }
  /** Resolves to nothing when so many have ended. */
  async function over(all: readonly Promise<unknown>[], count: number): Promise<undefined> {
    let ended = 0;
    await new Promise<void>((resolve) => {
      for (const one of all) void one.then(() => ++ended >= count && setImmediate(resolve));
    });
    return undefined;
  }

  it("goes on from the last checkpoint with the ranks that are left", async () => {
    const store = memoryStore();
    const found = await killing(1, [store, store, store]);
    expect(found).toHaveLength(2);
    for (const { begun, updates, hashes } of found as readonly {
      begun: number[];
      updates: number;
      hashes: object;
    }[]) {
      expect([begun, updates]).toEqual([[0, 6], 20]);
      expect(hashes).toEqual((found[0] as { readonly hashes: object }).hashes);
    }
  });

  it("does not begin anew where the main rank is lost with its checkpoints", async () => {
    const found = await killing(0, [memoryStore(), memoryStore(), memoryStore()]);
    const codes = found.map((end) => ("code" in end ? end.code : "none"));
    expect(codes.sort()).toEqual(["RANKS_CHECKPOINT", "RANK_FAILED"]);
  });

  it("refuses ranks that train otherwise, and tasks that cannot", async () => {
    const other = onRanks(2, ({ rank }) => ({
      task: task(rank === 1 ? { shuffle: false } : {}),
      config: { epochs: 1 },
    }));
    await expect(other).rejects.toThrow(/RANKS_DIFFER|RANK_FAILED/);
    await expect(other).rejects.toThrow(/shuffle: true and false|"shuffle"/);
    const plain = { ...task(), trainsOnRanks: false };
    await expect(onRanks(1, () => ({ task: plain }))).rejects.toMatchObject({ code: "TASK_RANKS" });
  });

  it("leaves out metrics of training batches that cannot be summed, and says so", async () => {
    const said: string[] = [];
    const [one] = await onRanks(2, () => ({
      task: task({ metrics: { accuracy, auc: auc() } }),
      warn: (text) => void said.push(text),
    }));
    expect(Object.keys(one?.result.metrics ?? {})).toEqual(["accuracy", "loss"]);
    expect(said.filter((text) => text.includes("auc")).length).toBe(2);
  });
});

describeInRest("supervisedTrainer with ranks", () => {
  it("writes one directory, by the main rank, and another run goes on from it", async () => {
    const checkpointDir = temporaryDirectory();
    const train = (epochs: number, options: object, inputs: object) =>
      inGroup(2, (ranks) => {
        const trainingConfig = { epochs, batchSize: 10, learningRate: 0.01 };
        const given = { model: nn.dense(3), trainingConfig, engine: "wasm", warn: () => undefined } as const;
        const trainer = supervisedTrainer({ ...given, ...options, ranks });
        return trainer.train({ trainData: data, progress: false, ...inputs });
      });
    for (const { counters } of await train(2, { checkpointDir }, {})) expect(counters.updates).toBe(10);
    const written = ["metrics.jsonl", "epoch-0002-update-000010"];
    expect(readdirSync(checkpointDir)).toEqual(expect.arrayContaining(written));
    for (const { counters } of await train(3, { checkpointDir }, {})) expect(counters.updates).toBe(15);
    const without = { resumeFrom: checkpointDir, resume: { allow: ["hooks"] } };
    for (const { counters } of await train(4, {}, without)) expect(counters.updates).toBe(20);
  });
});

describeInSample("a task of rollouts on ranks", () => {
  const unevenly: Loss<{ readonly numbers: Value }, Value> = {
    name: "size",
    count: ({ numbers }) => np.sum(np.greater(numbers, 0)),
    term: ({ outputs, batch: { numbers } }) => {
      const mask = np.greater(numbers, 0).astype("f32");
      const loss = np.sum(np.square(outputs).mul(mask)).div(np.sum(mask));
      return { loss, metrics: { absolute: np.sum(np.abs(outputs).mul(mask)).div(np.sum(mask)) } };
    },
  };
  /** Learns to give nothing, from rollouts of the problem of the largest number. */
  const shrinking = () => {
    const inner = largestGenerator();
    let calls = 0;
    const generator = {
      ...inner,
      rollout: (request: Parameters<typeof inner.rollout>[0]) => {
        calls++;
        return inner.rollout(request);
      },
    };
    const task = rolloutTask({
      init: (_, where) => ({
        w: put(
          Float32Array.from({ length: 16 }, (_, i) => i / 8),
          { shape: [4, 4], ...where },
        ),
      }),
      forward: (params, { numbers }: { readonly numbers: Value }) => np.matmul(numbers, params.w as Value),
      losses: [unevenly],
      optimizer: optim.adam({ learningRate: 0.05 }),
      batchSize: 16,
      updates: 3,
      maxReuse: 4,
      engine: "wasm",
      generator,
    });
    return { task, calls: () => calls };
  };

  it.each([3])("learns what one process learns, from the main rank's rollouts (%i ranks)", async (count) => {
    const one = shrinking();
    const expected = await trained({ task: one.task, config: { epochs: 4 } });
    const made: { readonly rank: number; readonly calls: () => number }[] = [];
    const all = await onRanks(count, ({ rank }) => {
      const { task, calls } = shrinking();
      made.push({ rank, calls });
      return { task, config: { epochs: 4 } };
    });
    for (const { rank, calls } of made) expect(calls()).toBe(rank === 0 ? one.calls() : 0);
    for (const { result, hashes, params } of all) {
      expect(hashes.params).toBe(all[0]?.hashes.params);
      params.forEach((number, i) => {
        expect(number).toBeCloseTo(expected.params[i] as number, 5);
      });
      const { seconds: _, ...counters } = result.counters;
      expect(counters).toEqual(expect.objectContaining(withoutSeconds(expected.result)));
      for (const [name, value] of Object.entries(expected.result.metrics))
        expect([name, result.metrics[name]]).toEqual([name, expect.closeTo(value, 4)]);
    }
  });
});

const withoutSeconds = ({ counters: { seconds: _, ...counters } }: TrainingResult) => counters;
