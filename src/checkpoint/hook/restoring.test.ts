import { rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { every } from "../../schedule/index.ts";
import type { Stateful } from "../../state/index.ts";
import type { TrainerHook, TrainingConfig } from "../../trainer/index.ts";
import { interruptTrainer } from "../../trainer/task.test-support.ts";
import { CheckpointManager, localStore, memoryStore } from "../index.ts";
import { checkpointHook } from "./checkpoint-hook.ts";
import { resumeTrainer } from "./open-checkpoint.ts";
import { countingHook, hashesOf, stopAt, temporaryDirectory, trainerOf } from "./runs.test-support.ts";

const batchesOf = ({ task }: ReturnType<typeof trainerOf>): number =>
  task.requests.reduce((sum, { count }) => sum + count, 0);

/** The config of a run that ends after so many batches, and leaves nothing behind that a longer one does not have. */
const until = (maxUpdates: number): Partial<TrainingConfig> => ({ maxUpdates, validateAtEnd: false });

/** A run in a store that ended after six batches. */
async function begun(store = memoryStore(), config: Partial<TrainingConfig> = {}) {
  await trainerOf([checkpointHook({ store })], { ...until(6), ...config }).trainer.train();
  return store;
}

describe("onStart", () => {
  it("resume: goes on from the newest, and from the one before where that is damaged", async () => {
    const directory = temporaryDirectory();
    const store = await begun(localStore(directory));
    const first = trainerOf([checkpointHook({ directory, onStart: "resume" })], until(8));
    await first.trainer.train();
    expect(batchesOf(first)).toBe(2);
    truncateSync(join(store.path("epoch-0002-update-000008"), "values.bin"), 3);
    const second = trainerOf([checkpointHook({ directory })]);
    await second.trainer.train();
    expect(batchesOf(second)).toBe(6);
    expect(second.warnings[0]).toMatch(/epoch-0002-update-000008 is passed over: .* has 3 bytes/);
    // What is there never changes: the same place gets another name.
    expect(await store.list()).toContain("epoch-0002-update-000008-2");
  });

  it("resume: lets hooks that come after it see where the run is", async () => {
    const store = await begun();
    const seen: unknown[] = [];
    const look: TrainerHook = {
      name: "look",
      priority: 1000,
      onTrainingStart: ({ counters, state }) => void seen.push([counters.batches, state.counters.batches]),
    };
    await trainerOf([look, checkpointHook({ store })]).trainer.train();
    expect(seen).toEqual([[6, 6]]);
  });

  it("fresh: begins anew in an empty store, and refuses one with checkpoints", async () => {
    const store = memoryStore();
    await trainerOf([checkpointHook({ store, onStart: "fresh" })], { epochs: 1 }).trainer.train();
    const second = trainerOf([checkpointHook({ store, onStart: "fresh" })]);
    await expect(second.trainer.train()).rejects.toThrow(
      /memory has 1 checkpoints, the newest epoch-0001-update-000004.*STORE_NOT_EMPTY/s,
    );
    expect(batchesOf(second)).toBe(0);
    // The store was given back.
    await trainerOf([checkpointHook({ store })]).trainer.train();
  });

  it("a path or a name: goes on from that one", async () => {
    const directory = temporaryDirectory();
    const store = await begun(localStore(directory));
    const [first] = [...(await store.list())].sort();
    for (const onStart of [first as string, store.path(first as string)]) {
      const run = trainerOf([checkpointHook({ directory, onStart })]);
      await run.trainer.train();
      expect(batchesOf(run)).toBe(8);
    }
    const other = trainerOf([checkpointHook({ store: memoryStore(), onStart: `${directory}/none` })]);
    await expect(other.trainer.train()).rejects.toThrow(/CHECKPOINT_MISSING/);
  });

  it.each([
    [
      "resum",
      /onStart is "resum".*did you mean "resume"\?.*there are epoch-0001-update-000004, epoch-0001-/s,
    ],
    ["epoch-0001-update-000005", /did you mean "epoch-0001-update-00000[46]"\?.*CHECKPOINT_MISSING/s],
  ])("a name that is not there (%s): says which there are", async (onStart, message) => {
    const store = await begun();
    await expect(trainerOf([checkpointHook({ store, onStart })]).trainer.train()).rejects.toThrow(message);
  });

  it("a path that is not there: says what lies beside it", async () => {
    const directory = temporaryDirectory();
    await begun(localStore(directory));
    const onStart = join(directory, "epoch-0001-update-000007");
    const { trainer } = trainerOf([checkpointHook({ store: memoryStore(), onStart })]);
    await expect(trainer.train()).rejects.toThrow(
      /no whole checkpoint at .*; did you mean "epoch-0001-.*there are epoch-0001-update-000004, epoch/s,
    );
  });

  it("a directory that is a file, or lies below one, is told as such", async () => {
    const file = join(temporaryDirectory(), "file");
    writeFileSync(file, "");
    for (const directory of [file, join(file, "run")])
      await expect(trainerOf([checkpointHook({ directory })]).trainer.train()).rejects.toThrow(
        /file.*: it is a file.*STORE_NOT_DIRECTORY/s,
      );
  });

  it.runIf(process.platform === "linux")("so is one that cannot be made", async () => {
    const { trainer } = trainerOf([checkpointHook({ directory: "/proc/nowhere/run" })]);
    await expect(trainer.train()).rejects.toThrow(/no directory can be made there.*STORE_NOT_DIRECTORY/s);
  });

  it("resume: does not begin anew beside checkpoints that are all damaged", async () => {
    const directory = temporaryDirectory();
    const store = await begun(localStore(directory));
    for (const name of await store.list()) rmSync(join(store.path(name), "values.bin"));
    const run = trainerOf([checkpointHook({ directory })]);
    await expect(run.trainer.train()).rejects.toThrow(
      /none of them is whole:\n.*000006 is passed over.*\n.*000004 is passed over.*CHECKPOINT_DAMAGED/,
    );
    expect(batchesOf(run)).toBe(0);
  });

  it("stops the run where it cannot restore, whatever onFailure says of saving", async () => {
    const store = await begun();
    const { trainer } = trainerOf([checkpointHook({ store, onFailure: "warn" })], { seed: 1 });
    await expect(trainer.train()).rejects.toThrow(/"checkpoint.start" failed in onTrainingStart/);
  });
});

describe("a run that was completed", () => {
  it("trains nothing when it is started again, and says so", async () => {
    const store = memoryStore();
    await trainerOf([checkpointHook({ store })]).trainer.train();
    const again = trainerOf([checkpointHook({ store })]);
    expect(await again.trainer.train()).toMatchObject({ outcome: "completed", counters: { batches: 12 } });
    expect(batchesOf(again)).toBe(0);
    expect(again.warnings).toEqual([expect.stringMatching(/completed 3 epochs already, of 3,/)]);
  });
});

describe("a run that was stopped", () => {
  it("stays ended when it is started again, and says how it goes on", async () => {
    const store = memoryStore();
    const patience = stopAt(6);
    const first = trainerOf([checkpointHook({ store }), patience]);
    expect(await first.trainer.train()).toMatchObject({ outcome: "stopped", reason: "enough" });
    const there = await store.list();
    for (const config of [{}, { epochs: 9, fuse: false }]) {
      const again = trainerOf([checkpointHook({ store }), patience], config);
      expect(await again.trainer.train()).toMatchObject({
        outcome: "stopped",
        reason: "enough",
        counters: { batches: 6 },
        metrics: first.trainer.result?.metrics,
        validation: { at: 6 },
      });
      expect(batchesOf(again)).toBe(0);
      expect(again.warnings).toEqual([
        expect.stringMatching(/stopped after 6 updates \(enough\).*"stopped"/),
      ]);
      expect(await store.list()).toEqual(there);
    }
    const allowed = trainerOf([checkpointHook({ store, allow: ["stopped"] }), patience]);
    expect(await allowed.trainer.train()).toMatchObject({ outcome: "completed", counters: { batches: 12 } });
    expect(allowed.warnings).toEqual([expect.stringMatching(/was stopped \(enough\)/)]);
    const whole = trainerOf([]);
    await whole.trainer.train();
    expect(allowed.task.w).toBe(whole.task.w);
    // Once it has come to its end, more epochs have it go on as ever.
    const further = trainerOf([checkpointHook({ store })], { epochs: 4 });
    expect(await further.trainer.train()).toMatchObject({ outcome: "completed", counters: { batches: 16 } });
    expect(further.warnings).toEqual([]);
  });

  it("goes on by itself where a signal came after the stop", async () => {
    const store = memoryStore();
    const interrupted: TrainerHook = {
      name: "interrupted",
      onBatchEnd: ({ counters, stop }) => {
        if (counters.batches !== 6) return;
        stop("enough");
        interruptTrainer();
      },
    };
    const first = trainerOf([checkpointHook({ store }), interrupted], { handleSignals: true });
    const { outcome } = await first.trainer.train();
    process.exitCode = undefined;
    expect(outcome).toBe("interrupted");
    const second = trainerOf([checkpointHook({ store })]);
    expect(await second.trainer.train()).toMatchObject({ outcome: "completed", counters: { batches: 12 } });
    expect(second.warnings).toEqual([]);
  });
});

describe("mode exact", () => {
  it("refuses with the whole list of what differs", async () => {
    const store = memoryStore();
    const computedBy = { ...(await import("../fakes.test-support.ts")).somebody, engine: "abacus" };
    const saved = trainerOf([], { seed: 3, validate: every({ epochs: 2 }) });
    const manager = new CheckpointManager({ store, computedBy: async () => computedBy });
    const { components, settings } = saved.trainer;
    await manager.save(
      { ...components, extra: countingHook("x").state as never },
      { counters: {}, config: settings },
    );
    await manager.close();
    const { trainer } = trainerOf([checkpointHook({ store }), countingHook("counts")], { seed: 4 });
    const failure = (await trainer.train().catch((error: unknown) => error)) as Error;
    for (const part of [
      '"hook.counts" is not in the checkpoint',
      '"extra" is not in this run',
      "config.seed is 3 in the checkpoint and 4 here",
      'config.validate is "every 2 epochs" in the checkpoint and "every epoch" here',
      'engine is "abacus" in the checkpoint',
      "compileOptions is {} in the checkpoint",
    ])
      expect(failure.message).toContain(part);
  });

  it("goes on with hooks that were added or left out, where that is allowed", async () => {
    const store = memoryStore();
    await trainerOf([checkpointHook({ store }), countingHook("old")], until(6)).trainer.train();
    const added = countingHook("new");
    const refused = trainerOf([checkpointHook({ store }), added]);
    await expect(refused.trainer.train()).rejects.toThrow(/"hook.new" is not in the checkpoint.*"hooks"/s);
    const run = trainerOf([checkpointHook({ store, allow: ["hooks"] }), countingHook("new")]);
    await run.trainer.train();
    expect(batchesOf(run)).toBe(6);
    expect(run.warnings.filter((text) => text.includes("hook."))).toEqual([
      expect.stringContaining('"hook.new" is not in the checkpoint'),
      expect.stringContaining('"hook.old" is not in this run'),
    ]);
    const whole = trainerOf([]);
    await whole.trainer.train();
    expect(run.task.w).toBe(whole.task.w);
  });

  it("goes on with a hook whose state is optional, from before there was one", async () => {
    const store = memoryStore();
    await trainerOf([checkpointHook({ store })], until(6)).trainer.train();
    const { state, ...added } = countingHook("new");
    const optional = { ...(state as Stateful), optional: true };
    const run = trainerOf([checkpointHook({ store }), { ...added, state: optional }]);
    await run.trainer.train();
    expect(run.warnings).toEqual([]);
    // Left out, it is missed.
    const without = trainerOf([checkpointHook({ store })]);
    await expect(without.trainer.train()).rejects.toThrow(/"hook.new" is not in this run/);
  });

  it("does not mind what changes no bits: the name, how far it goes, how work is cut", async () => {
    const store = await begun();
    const run = trainerOf([checkpointHook({ store })], { name: "again", epochs: 5, fuse: false });
    expect(await run.trainer.train()).toMatchObject({ outcome: "completed", counters: { epochs: 5 } });
  });

  it("accepts other settings where that is allowed, and says so", async () => {
    const store = await begun();
    const run = trainerOf([checkpointHook({ store, allow: ["config"] })], { seed: 7 });
    await run.trainer.train();
    expect(run.warnings.join()).toMatch(/config.seed is 0 in the checkpoint and 7 here/);
    expect(batchesOf(run)).toBe(6);
  });
});

describe("a warm start", () => {
  it("takes over parameters alone, and goes on by itself where it was begun before", async () => {
    const [directory, own] = [temporaryDirectory(), memoryStore()];
    await begun(localStore(directory));
    const hook = () =>
      checkpointHook({ store: own, onStart: directory, mode: "warmStart", parameters: ["parameters"] });
    const first = trainerOf([hook()], { seed: 9, ...until(5) });
    const w: number[] = [];
    first.trainer.registerHook({ name: "look", onEpochStart: () => void w.push(first.task.w) });
    await first.trainer.train();
    expect(w[0]).not.toBe(1);
    expect(batchesOf(first)).toBe(5);
    const second = trainerOf([hook()], { seed: 9 });
    await second.trainer.train();
    expect(batchesOf(second)).toBe(7);
    expect(second.warnings[0]).toMatch(/this run has begun before/);
  });
});

describe("resumeTrainer", () => {
  it("restores from a run directory, and the hook then leaves the run where it is", async () => {
    const directory = temporaryDirectory();
    await begun(localStore(directory));
    const whole = trainerOf([]);
    await whole.trainer.train();
    const run = trainerOf([checkpointHook({ store: memoryStore() })]);
    const { counters } = await resumeTrainer(run.trainer, directory);
    expect(counters.batches).toBe(6);
    await run.trainer.train();
    expect(batchesOf(run)).toBe(6);
    expect(await hashesOf(run.trainer)).toEqual(await hashesOf(whole.trainer));
  });
});
