import { appendFileSync, cpSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { countingHook, hashesOf, temporaryDirectory } from "../../checkpoint/hook/runs.test-support.ts";
import { checkpointHook, memoryStore } from "../../checkpoint/index.ts";
import { nn } from "../../index.ts";
import { adam } from "../../optim/index.ts";
import { every, never } from "../../schedule/index.ts";
import { supervisedTask } from "../../supervised/index.ts";
import { evaluationScores, Trainer, type TrainerHook, type TrainingConfig } from "../../trainer/index.ts";
import { controlHook, controlJournal, rollbackHook } from "../index.ts";
import { ask, journalOf, put, turns } from "./control.test-support.ts";
import type { ControlAction, ControlRecord } from "./control.ts";

/** Evaluates never by itself, and remembers how often it did. */
function evaluationHook(): TrainerHook {
  const state = { times: 0 };
  return {
    name: "evaluation",
    provides: [evaluationScores],
    schedule: never(),
    state,
    onEpochEnd: ({ slots, counters }) => {
      state.times++;
      slots.set(evaluationScores, { scores: { times: state.times }, counters });
    },
  };
}

/** A run on wasm with noisy targets and without an end, whose parameters remember every update. */
function trainerOf(hooks: readonly TrainerHook[], config: Partial<TrainingConfig> = {}): Trainer {
  const task = supervisedTask({
    model: nn.dense(1),
    optimizer: adam({ learningRate: 0.01 }),
    data: {
      x: Float32Array.from({ length: 80 }, (_, i) => Math.sin(i)),
      y: Float32Array.from({ length: 80 }, (_, i) => (i % 9 === 4 ? 3 : Math.cos(i))),
    },
    loss: (output, target) => output.sub(target).square().mean(),
    batchSize: 2,
    engine: "wasm",
    seed: 3,
  });
  return new Trainer({
    task,
    hooks: [countingHook("watcher"), evaluationHook(), rollbackHook({ updates: 7 }), ...hooks],
    config: { epochs: 1e9, handleSignals: false, ...config },
    warn: () => undefined,
  });
}

/** Steers a run while it trains, to its end. */
async function steered(store = memoryStore(), on: "onBatchEnd" | "onBatchesEnd" = "onBatchEnd") {
  const directory = temporaryDirectory();
  const trainer = trainerOf([
    turns,
    checkpointHook({ store, schedule: every({ updates: 1 }), on }),
    controlHook({ directory, pollEvery: 2 }),
  ]);
  const result = trainer.train();
  result.catch(() => undefined);
  const applied = async (action: ControlAction) =>
    expect(await ask(directory, action)).toMatchObject({ outcome: "applied" });
  await applied({ action: "set", ramp: "learningRate", value: 0.03 });
  await applied({ action: "disable", hook: "watcher" });
  expect(await ask(directory, { action: "resume" })).toMatchObject({ outcome: "refused" });
  await applied({ action: "evaluate" });
  await applied({ action: "pause" });
  await applied({ action: "set", ramp: "learningRate", value: 0.02 });
  await applied({ action: "checkpoint" });
  await applied({ action: "evaluate" });
  await applied({ action: "enable", hook: "watcher" });
  await applied({ action: "resume" });
  await applied({ action: "set", ramp: "learningRate", value: null });
  await applied({ action: "disable", hook: "evaluation" });
  await applied({ action: "set", ramp: "learningRate", value: 0.04 });
  await applied({ action: "stop" });
  expect(await result).toMatchObject({ outcome: "stopped" });
  return { directory, store, expected: await hashesOf(trainer), records: journalOf(directory) };
}

/** Trains again what was steered, as the journal says. */
async function replayed(directory: string, config: Partial<TrainingConfig> = {}) {
  const trainer = trainerOf([controlHook({ replay: controlJournal(directory) })], config);
  await trainer.train();
  return hashesOf(trainer);
}

describe("a run that was steered", () => {
  it("has the same bits when it is trained again with its journal, however the work is cut", async () => {
    const { directory, expected, records } = await steered();
    expect(Object.keys(expected)).toEqual(
      expect.arrayContaining(["params", "optimizer", "trainer", "slots", "hook.control", "hook.evaluation"]),
    );
    expect(await replayed(directory)).toEqual(expected);
    expect(await replayed(directory, { fuse: false })).toEqual(expected);
    // Each of these counts: without it the run is another one.
    for (const [i, { request, outcome }] of records.entries()) {
      if (outcome === "refused" || !["set", "disable", "enable", "evaluate"].includes(request.action))
        continue;
      if ("hook" in request && request.hook === "evaluation") continue; // It is not run afterwards.
      const trainer = trainerOf([controlHook({ replay: records.toSpliced(i, 1) })]);
      await trainer.train();
      const { "hook.control": _, ...others } = await hashesOf(trainer);
      expect({ ...expected, ...others }, `without ${request.action} at ${i}`).not.toEqual(expected);
    }
  });

  it.each(["onBatchEnd", "onBatchesEnd"] as const)(
    "and was killed goes on to the same end from any checkpoint, with what it was told after it: %s",
    async (on) => {
      const { directory, store, expected, records } = await steered(memoryStore(), on);
      const updates = [...new Set(records.map(({ counters }) => counters.batches))];
      const near = updates.flatMap((batch) => [batch - 1, batch, batch + 1]);
      const names = (await store.list()).filter((name) => {
        const update = Number(/update-(\d+)/.exec(name)?.[1]);
        return near.includes(update) && update < (updates.at(-1) as number);
      });
      expect(names.length).toBeGreaterThan(4);
      for (const name of names) {
        const copy = temporaryDirectory();
        mkdirSync(join(copy, "control"));
        cpSync(join(directory, "control/journal.jsonl"), join(copy, "control/journal.jsonl"));
        const trainer = trainerOf([
          checkpointHook({ store, schedule: never(), onStart: name }),
          controlHook({ directory: copy }),
        ]);
        const { outcome } = await trainer.train();
        expect(outcome).toBe("stopped");
        expect(await hashesOf(trainer), name).toEqual(expected);
        expect(journalOf(copy)).toEqual(records);
      }
    },
    120_000,
  );

  it("and is told otherwise before it comes to what it was told: the newest word counts", async () => {
    const { directory, records } = await steered();
    const copy = temporaryDirectory();
    mkdirSync(join(copy, "control"));
    cpSync(join(directory, "control/journal.jsonl"), join(copy, "control/journal.jsonl"));
    put(copy, { action: "set", ramp: "learningRate", value: 0.5 }, { id: "early" });
    const trainer = trainerOf([turns, controlHook({ directory: copy, pollEvery: 1 })]);
    await trainer.train();
    expect(journalOf(copy)).toHaveLength(records.length + 1);
    const now = controlJournal(copy);
    const early = now.find(({ request }) => request.id === "early");
    const from = early?.counters.batches ?? Number.NaN;
    const isReplaced = ({ request, counters }: ControlRecord) =>
      request.action === "set" && counters.batches > from;
    expect(records.some(isReplaced)).toBe(true);
    // What was said of this ramp later in the run before is not said again.
    expect(now.filter((record) => record !== early)).toEqual(records.filter((record) => !isReplaced(record)));
    const order = now.map(({ counters }) => counters.batches);
    expect(order).toEqual(order.toSorted((a, b) => a - b));
    expect(await replayed(copy)).toEqual(await hashesOf(trainer));
  });

  it("does nothing twice, and reads a journal that a crash has cut", async () => {
    const { directory, records } = await steered();
    const copy = temporaryDirectory();
    mkdirSync(join(copy, "control"));
    cpSync(join(directory, "control/journal.jsonl"), join(copy, "control/journal.jsonl"));
    const file = join(copy, "control/journal.jsonl");
    appendFileSync(file, '{"request":{"id":"cut"');
    // Answered, and not removed before the crash.
    const [first] = records;
    put(copy, { action: "set", ramp: "learningRate", value: 0.9 }, { id: first?.request.id });
    const trainer = trainerOf([turns, controlHook({ directory: copy, pollEvery: 1 })]);
    await trainer.train();
    expect(existsSync(join(copy, `control/requests/${first?.request.id}.json`))).toBe(false);
    expect(await hashesOf(trainer)).toEqual(await replayed(directory));
    expect(() => controlJournal(copy)).not.toThrow();
    appendFileSync(file, "\nno record\n");
    expect(() => controlJournal(copy)).toThrow(/CONTROL_JOURNAL/);
    expect(readFileSync(file, "utf8")).toContain('"cut"');
  });
});
