import { describe, expect, it } from "vitest";
import { deferred } from "../../hooks/hooks.test-support.ts";
import { every } from "../../schedule/index.ts";
import { latestCheckpoint, type TrainerHook } from "../../trainer/index.ts";
import { CheckpointManager, memoryStore } from "../index.ts";
import { checkpointHook } from "./checkpoint-hook.ts";
import { beforeCommit, trainerOf } from "./runs.test-support.ts";

const full = (names: readonly string[]) => (name: string) => {
  if (names.includes(name)) throw new Error("no space left");
};
const [one, two, three] = [1, 2, 3].map(
  (n) => `epoch-000${n}-update-0000${String(4 * n).padStart(2, "0")}`,
) as [string, string, string];
const listed = async (store: ReturnType<typeof memoryStore>) => [...(await store.list())].sort();

describe("a store that fails", () => {
  it("stops the run at the next event by default, in the hook's name", async () => {
    const store = memoryStore();
    const events: string[] = [];
    const note: TrainerHook = {
      name: "note",
      onEpochStart: ({ counters }) => {
        events.push(`epoch ${counters.epoch}`);
        return new Promise((resolve) => setImmediate(resolve));
      },
    };
    const { trainer } = trainerOf([checkpointHook({ store: beforeCommit(store, full([one])) }), note]);
    await expect(trainer.train()).rejects.toThrow(/hook "checkpoint" failed in onEpochEnd: no space left/);
    expect(events).toEqual(["epoch 0", "epoch 1"]);
    expect(await listed(store)).toEqual([]);
  });

  it("lets training go on with warn, loses no other checkpoint, and is tried again at the end", async () => {
    const store = memoryStore();
    let last = 0;
    const failing = beforeCommit(store, (name) => {
      full([two])(name);
      if (name === three && last++ === 0) throw new Error("no space left");
    });
    const run = trainerOf([checkpointHook({ store: failing, onFailure: "warn" })]);
    expect(await run.trainer.train()).toMatchObject({ outcome: "completed" });
    expect(await listed(store)).toEqual([one, three]);
    // The second failure of a kind is not told.
    expect(run.warnings).toHaveLength(1);
    expect(run.warnings[0]).toMatch(
      /hook "checkpoint" failed in onEpochEnd: no space left; training goes on/,
    );
  });

  it("is left alone after one failure with disable", async () => {
    const store = memoryStore();
    const run = trainerOf([
      checkpointHook({ store: beforeCommit(store, full([one])), onFailure: "disable" }),
    ]);
    await run.trainer.train();
    expect(await listed(store)).toEqual([]);
    expect(run.warnings).toHaveLength(1);
    expect(run.warnings[0]).toMatch(/it is disabled/);
  });

  it("fails the run where what it did last cannot be saved", async () => {
    const run = trainerOf([
      checkpointHook({ store: beforeCommit(memoryStore(), full([three])), schedule: every({ epochs: 5 }) }),
    ]);
    await expect(run.trainer.train()).rejects.toThrow(
      /"checkpoint.end" failed in onTrainingEnd: no space left/,
    );
  });
});

describe("one write at a time", () => {
  it("waits for the one before, and for the last one before the run ends", async () => {
    const store = memoryStore();
    const order: string[] = [];
    const gate = deferred();
    const slow = beforeCommit(store, async (name) => {
      order.push(`begin ${name}`);
      if (name === one) await gate.promise;
      order.push(`end ${name}`);
    });
    const note: TrainerHook = {
      name: "note",
      onEpochStart: ({ counters }) => void order.push(`epoch ${counters.epoch}`),
      onBatchStart: ({ counters }) => {
        if (counters.batches === 7) setImmediate(() => gate.resolve());
      },
    };
    await trainerOf([checkpointHook({ store: slow }), note], { epochs: 3, maxUpdates: 12 }).trainer.train();
    const places = order.filter((line) => !line.startsWith("begin"));
    expect(places).toEqual(["epoch 0", "epoch 1", `end ${one}`, "epoch 2", `end ${two}`, `end ${three}`]);
    expect(order.indexOf(`begin ${two}`)).toBeGreaterThan(order.indexOf(`end ${one}`));
  });
});

describe("publishing", () => {
  const published = async (store: ReturnType<typeof memoryStore>) =>
    (await new CheckpointManager({ store }).list()).map(({ name }) => name);

  it("copies what was saved, at its own times, and puts the address into the slot", async () => {
    const [store, to] = [memoryStore(), memoryStore()];
    const seen: unknown[] = [];
    const filed: string[] = [];
    const look: TrainerHook = {
      name: "look",
      onTrainingEnd: ({ slots }) => void seen.push(slots.previous(latestCheckpoint)),
    };
    const hook = checkpointHook({
      store,
      keep: { last: 1 },
      publish: [
        { to, schedule: every({ epochs: 2 }) },
        {
          to: async ({ path }) => `registry:${filed.push(path)}`,
          schedule: every({ epochs: 3 }),
        },
      ],
    });
    await trainerOf([hook, look], { epochs: 4 }).trainer.train();
    expect(await published(to)).toEqual([two, "epoch-0004-update-000016"]);
    expect(filed).toEqual([`memory/${three}`]);
    expect(await new CheckpointManager({ store: to }).verify(two)).toEqual([]);
    const uri = "memory/epoch-0004-update-000016";
    expect(seen).toMatchObject([{ uri, counters: { epochs: 4 }, published: { uri } }]);
  });

  it("passes over none and publishes none twice, whatever was saved in between and wherever it resumed", async () => {
    const places = async (stops: readonly number[]) => {
      const [store, to] = [memoryStore(), memoryStore()];
      for (const maxUpdates of [...stops, 28]) {
        const publish = [{ to, schedule: every({ updates: 10 }) }];
        const hook = checkpointHook({ store, schedule: every({ updates: 7 }), publish });
        await trainerOf([hook], { epochs: 7, maxUpdates }).trainer.train();
      }
      return (await published(to)).map((name) => Number(name.slice(-6)));
    };
    expect(await places([])).toEqual([14, 21]);
    expect(await places([14])).toEqual([14, 21]);
    expect(await places([8, 16])).toEqual([14, 21]);
  });

  it("that fails leaves the checkpoint whole, and says so", async () => {
    const [store, to] = [memoryStore(), beforeCommit(memoryStore(), full([two]))];
    const publish = [{ to, schedule: every({ epochs: 2 }) }];
    const run = trainerOf([checkpointHook({ store, publish, onFailure: "warn" })]);
    await run.trainer.train();
    expect(await listed(store)).toEqual([one, two, three]);
    expect(run.warnings[0]).toMatch(
      new RegExp(`memory/${two} is saved, and could not be published to memory: no space left`),
    );
  });
});
