import { describe, expect, it } from "vitest";
import { deferred } from "../../hooks/hooks.test-support.ts";
import { every, type Schedule, when } from "../../schedule/index.ts";
import {
  evaluationScores,
  latestCheckpoint,
  latestMetrics,
  type TrainerContext,
  type TrainerHook,
} from "../../trainer/index.ts";
import { CheckpointManager, memoryStore } from "../index.ts";
import type { CheckpointHookOptions } from "./checkpoint-hook.ts";
import { checkpointHook } from "./checkpoint-hook.ts";
import { beforeCommit, countingHook, hashesOf, stopAt, trainerOf } from "./runs.test-support.ts";

const names = async (store = memoryStore()): Promise<readonly string[]> =>
  (await new CheckpointManager({ store }).list()).map(({ name }) => name);
const manifests = async (store = memoryStore()) =>
  (await new CheckpointManager({ store }).list()).flatMap(({ manifest }) => manifest ?? []);

describe("when it saves", () => {
  it("saves every epoch unless told, with everything that belongs to the run", async () => {
    const store = memoryStore();
    const { trainer } = trainerOf([checkpointHook({ store }), countingHook("counts")]);
    await trainer.train();
    const all = await manifests(store);
    expect(all.map(({ name }) => name)).toEqual([
      "epoch-0001-update-000004",
      "epoch-0002-update-000008",
      "epoch-0003-update-000012",
    ]);
    expect(Object.keys(all[0]?.components ?? {}).sort()).toEqual(
      ["hook.counts", "parameters", "random", "slots", "time", "trainer"].sort(),
    );
  });

  it.each<[string, Schedule, CheckpointHookOptions["on"], readonly string[]]>([
    [
      "in the middle of epochs",
      every({ updates: 5 }),
      undefined,
      ["0001-update-000005", "0002-update-000010"],
    ],
    ["where it is told to look", every({ epochs: 2 }), "onTrainPhaseEnd", ["0002-update-000008"]],
    [
      "at the epoch's end where nothing tells when",
      when(({ counters }) => counters.epochs === 2),
      undefined,
      ["0002-update-000008"],
    ],
    ["by the clock", every({ seconds: 1000 }), undefined, []],
  ])("saves %s", async (_title, schedule, on, expected) => {
    const store = memoryStore();
    await trainerOf([checkpointHook({ store, schedule, ...(on && { on }) })]).trainer.train();
    expect(await names(store)).toEqual([...expected, "0003-update-000012"].map((name) => `epoch-${name}`));
  });

  it("keeps batches fused up to the next save, and by the clock altogether", async () => {
    const calls = async (schedule: Schedule) => {
      const { trainer, task } = trainerOf([checkpointHook({ store: memoryStore(), schedule })], {
        epochs: 1,
      });
      await trainer.train();
      return task.requests.map(({ count }) => count);
    };
    expect(await calls(every({ updates: 3 }))).toEqual([3, 1]);
    expect(await calls(every({ seconds: 1000 }))).toEqual([4]);
  });

  it("saves what a stopped run has done since, and nothing where nothing has been", async () => {
    const store = memoryStore();
    await trainerOf([checkpointHook({ store }), stopAt(6)]).trainer.train();
    expect(await names(store)).toEqual(["epoch-0001-update-000004", "epoch-0001-update-000006"]);
    await trainerOf([checkpointHook({ store }), stopAt(6)], { maxUpdates: 6 }).trainer.train();
    expect(await names(store)).toHaveLength(2);
    const other = memoryStore();
    await trainerOf([checkpointHook({ store: other })], { epochs: 0 }).trainer.train();
    expect(await names(other)).toEqual([]);
  });

  it("saves nothing at the end of a run that failed", async () => {
    const store = memoryStore();
    const fail: TrainerHook = {
      name: "fail",
      onBatchEnd: ({ counters }) => {
        if (counters.batches === 6) throw new Error("broken");
      },
    };
    await expect(trainerOf([checkpointHook({ store }), fail]).trainer.train()).rejects.toThrow(/broken/);
    expect(await names(store)).toEqual(["epoch-0001-update-000004"]);
  });
});

describe("what is saved", () => {
  it("is the step it is filed under, though it is written while training goes on", async () => {
    const store = memoryStore();
    const written = deferred();
    const hooks = () => [
      checkpointHook({
        store: beforeCommit(store, () => written.promise),
        schedule: every({ updates: 3, until: 3 }),
      }),
      countingHook("counts"),
    ];
    const first = trainerOf([
      ...hooks(),
      { name: "late", schedule: every({ updates: 9 }), onBatchEnd: () => written.resolve() },
    ]);
    await first.trainer.train();
    const [early] = await names(store);
    expect(early).toBe("epoch-0000-update-000003");
    const second = trainerOf([
      checkpointHook({ store, onStart: early as string }),
      countingHook("counts"),
      { name: "late", onBatchEnd: () => {} },
    ]);
    await second.trainer.train();
    expect(second.task.requests.reduce((sum, { count }) => sum + count, 0)).toBe(9);
    expect(await hashesOf(second.trainer)).toEqual(await hashesOf(first.trainer));
  });

  it("holds last metrics, the scores of this very state and the caller's own", async () => {
    const store = memoryStore();
    const evaluation: TrainerHook = {
      name: "evaluation",
      schedule: every({ epochs: 2 }),
      provides: [evaluationScores],
      onEpochEnd: ({ slots, counters }) =>
        slots.set(evaluationScores, { scores: { reward: counters.epochs }, counters }),
    };
    const metrics: TrainerHook = {
      name: "metrics",
      provides: [latestMetrics],
      onEpochEnd: ({ slots, counters }) =>
        slots.set(latestMetrics, { metrics: { pace: counters.epochs * 10 }, counters }),
    };
    const metadata = ({ counters }: TrainerContext) => ({ note: `epoch ${counters.epochs}` });
    const { trainer, task } = trainerOf([checkpointHook({ store, metadata }), metrics, evaluation], {
      epochs: 3,
      validate: every({ epochs: 3 }),
    });
    await trainer.train();
    expect(trainer.hooks.plan().order.at(-1)).toBe("checkpoint");
    const all = await manifests(store);
    expect(all.map(({ scores }) => scores)).toEqual([
      {},
      { reward: 2 },
      { "validation.loss": task.w, "validation.at": 12 },
    ]);
    expect(all.map(({ metrics: { pace } }) => pace)).toEqual([10, 20, 30]);
    expect(all.at(-1)?.metrics.loss).toBeCloseTo(task.w, 4);
    expect(all[1]).toMatchObject({ metadata: { note: "epoch 2" }, config: { seed: 0 } });
  });

  it("includes what every other hook did in that event, whatever the order", async () => {
    const run = async (until: number, store = memoryStore(), directory = memoryStore()) => {
      const hooks = [
        countingHook("first", { before: ["checkpoint"] }),
        checkpointHook({ store, schedule: every({ updates: 3 }) }),
        checkpointHook({
          name: "archive",
          store: directory,
          primary: false,
          schedule: every({ updates: 6 }),
          publish: [{ to: memoryStore(), schedule: every({ updates: 6 }) }],
        }),
        countingHook("last", { after: ["checkpoint"], wants: [latestCheckpoint] }),
        countingHook("asynchronous", {
          priority: -5,
          onBatchEnd: async () => {
            await Promise.resolve();
          },
        }),
      ];
      const made = trainerOf(hooks, { epochs: 3, maxUpdates: until, validateAtEnd: false });
      await made.trainer.train();
      const heard = hooks.flatMap((hook) => ("heard" in hook ? [hook.heard as string[]] : []));
      return { ...made, heard, store, directory };
    };
    const whole = await run(12);
    for (const until of [3, 6, 7, 9]) {
      const first = await run(until);
      const second = await run(12, first.store, first.directory);
      expect(first.heard.map((lines, i) => [...lines, ...(second.heard[i] ?? [])])).toEqual(whole.heard);
      expect(await hashesOf(second.trainer)).toEqual(await hashesOf(whole.trainer));
    }
  });
});

describe("keeping", () => {
  it("keeps the best by a score in the direction that is said, and the newest", async () => {
    const store = memoryStore();
    const rewards = [1, 9, 3, 2];
    const evaluation: TrainerHook = {
      name: "evaluation",
      provides: [evaluationScores],
      onEpochEnd: ({ slots, counters }) =>
        slots.set(evaluationScores, {
          scores: { reward: rewards[counters.epochs - 1] as number },
          counters,
        }),
    };
    const keep = { best: { metric: "evaluation/reward", k: 2, direction: "max" } } as const;
    await trainerOf([checkpointHook({ store, keep }), evaluation], { epochs: 4 }).trainer.train();
    expect((await manifests(store)).map(({ scores }) => scores.reward)).toEqual([9, 3, 2]);
  });
});

describe("keeping by what is not there", () => {
  const best = (metric: string) => ({ best: { metric, k: 1, direction: "min" } }) as const;

  it("removes nothing by a misspelt score, and says so", async () => {
    const store = memoryStore();
    const run = trainerOf([checkpointHook({ store, keep: best("val/loss") })]);
    await run.trainer.train();
    expect(await names(store)).toHaveLength(3);
    expect(run.warnings).toHaveLength(1);
    expect(run.warnings[0]).toMatch(/"val\/loss" .*; did you mean "validation\/loss"\?/);
    expect(run.warnings[0]).not.toMatch(/are saved at/);
  });

  it("removes nothing by a score that comes after saving, the last save included, and says why", async () => {
    const store = memoryStore();
    const hook = checkpointHook({ store, schedule: every({ updates: 4 }), keep: best("validation/loss") });
    const run = trainerOf([hook]);
    await run.trainer.train();
    // At each update that is due, and at the end of the run, which was validated.
    expect(await names(store)).toHaveLength(4);
    expect((await manifests(store)).at(-1)?.scores).toHaveProperty(["validation.loss"]);
    expect(run.warnings).toHaveLength(1);
    expect(run.warnings[0]).toMatch(
      /saved at onBatchEnd, and scores are measured later, .* on: "onEpochEnd"/,
    );
  });

  it("refuses units that the run does not count when it starts, and takes the task's own", async () => {
    const hook = (every: Readonly<Record<string, number>>) =>
      checkpointHook({ store: memoryStore(), keep: { every } });
    await expect(trainerOf([hook({ epocs: 2 })]).trainer.train()).rejects.toThrow(
      /keep\.every: nothing here counts "epocs"; did you mean "epochs"\? \[UNIT_UNKNOWN\]/,
    );
    await trainerOf([hook({ episodes: 2 })], {}, { counters: ["episodes"] }).trainer.train();
  });
});

describe("a state that cannot be saved", () => {
  it("is told with the component that has it", async () => {
    const bad: TrainerHook = {
      name: "p",
      onEpochEnd: () => {},
      state: { getState: () => ({ a: undefined }) as never, setState() {} },
    };
    await expect(trainerOf([checkpointHook({ store: memoryStore() }), bad]).trainer.train()).rejects.toThrow(
      /component "hook\.p": the state at "a" holds undefined \[STATE_INVALID\]/,
    );
  });
});

describe("the slot", () => {
  it("has the newest whole checkpoint, and after a resume the one that was resumed from", async () => {
    const store = memoryStore();
    const seen: unknown[] = [];
    const look: TrainerHook = {
      name: "look",
      wants: [latestCheckpoint],
      onTrainingStart: ({ slots }) => void seen.push(slots.get(latestCheckpoint)?.counters.updates),
      onEpochStart: async ({ slots }) => void seen.push(slots.get(latestCheckpoint)?.path),
    };
    await trainerOf([checkpointHook({ store }), look], { epochs: 1 }).trainer.train();
    const { trainer } = trainerOf([checkpointHook({ store }), look], { epochs: 2 });
    await trainer.train();
    const first = "memory/epoch-0001-update-000004";
    expect(seen).toEqual([undefined, undefined, 4, first]);
    expect(trainer.hooks.slots.get(latestCheckpoint)).toMatchObject({
      path: "memory/epoch-0002-update-000008",
      uri: null,
      counters: { epochs: 2 },
    });
  });

  it("is provided by one hook: two primaries are an error that says what to do", async () => {
    const two = ["a", "b"].map((name) => checkpointHook({ name, store: memoryStore() }));
    await expect(trainerOf(two).trainer.train()).rejects.toThrow(
      /"a" and "b" both provide the slot "checkpoint.latest".*SLOT_PROVIDED_TWICE.*primary: false/s,
    );
  });
});

describe("two hooks", () => {
  it("save at their own times to their own stores", async () => {
    const [often, seldom] = [memoryStore(), memoryStore()];
    const hooks = [
      checkpointHook({ store: often, schedule: every({ updates: 5 }), keep: { last: 1 } }),
      checkpointHook({ name: "archive", store: seldom, primary: false, schedule: every({ epochs: 2 }) }),
    ];
    await trainerOf(hooks).trainer.train();
    expect(await names(often)).toEqual(["epoch-0003-update-000012"]);
    expect(await names(seldom)).toEqual(["epoch-0002-update-000008", "epoch-0003-update-000012"]);
  });

  it("cannot share a store", async () => {
    const store = memoryStore();
    const hooks = [checkpointHook({ store }), checkpointHook({ name: "b", store, primary: false })];
    await expect(trainerOf(hooks).trainer.train()).rejects.toThrow(/STORE_LOCKED/);
  });
});

describe("one hook for several runs", () => {
  it("serves one run at a time", async () => {
    const store = memoryStore();
    const hook = checkpointHook({ store });
    const ends = await Promise.allSettled([hook, hook].map((each) => trainerOf([each]).trainer.train()));
    expect(ends).toMatchObject([
      { status: "fulfilled" },
      {
        reason: { cause: { code: "HOOK_IN_USE" }, message: expect.stringContaining("saves another run now") },
      },
    ]);
    expect(await names(store)).toHaveLength(3);
  });

  it("goes on with the second where the first ended", async () => {
    const hook = checkpointHook({ store: memoryStore() });
    await trainerOf([hook], { epochs: 1 }).trainer.train();
    const { trainer, task } = trainerOf([hook], { epochs: 3 });
    await trainer.train();
    expect(task.requests.reduce((sum, { count }) => sum + count, 0)).toBe(8);
  });

  it("may come in the middle of a run", async () => {
    const store = memoryStore();
    const { trainer } = trainerOf([]);
    trainer.registerHook({
      name: "add",
      schedule: every({ epochs: 1, until: 1 }),
      onEpochEnd: () => trainer.registerHook(checkpointHook({ store })),
    });
    await trainer.train();
    expect(await names(store)).toEqual(["epoch-0002-update-000008", "epoch-0003-update-000012"]);
  });
});

describe("options", () => {
  it.each<[string, object, RegExp]>([
    ["no place", {}, /not said where.*fix: give one of store and directory/s],
    ["two places", { store: memoryStore(), directory: "x" }, /both store and directory/],
    [
      "misspelt names",
      { store: memoryStore(), shedule: every({ epochs: 1 }) },
      /"shedule"; did you mean "schedule"/,
    ],
    ["an unknown mode", { store: memoryStore(), mode: "cold" }, /mode is "cold"/],
    ["a warm start from nowhere", { store: memoryStore(), mode: "warmStart" }, /name the checkpoint/],
    [
      "a second one that restores",
      { store: memoryStore(), primary: false, onStart: "a/b" },
      /is not primary/,
    ],
    ["an empty directory", { directory: " " }, /directory is " "/],
    ["no start", { store: memoryStore(), onStart: "" }, /onStart is ""/],
    [
      "misspelt rules",
      { store: memoryStore(), keep: { lst: 2 } },
      /"lst"; did you mean "last".*OPTION_UNKNOWN/,
    ],
    ["rules that keep nothing", { store: memoryStore(), keep: { last: 0 } }, /keep: last is 0.*KEEP_INVALID/],
  ])("refuses %s", (_title, options, message) => {
    expect(() => checkpointHook(options as CheckpointHookOptions)).toThrow(message);
  });
});
