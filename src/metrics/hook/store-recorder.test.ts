import { describe, expect, it } from "vitest";
import { checkpointHook } from "../../checkpoint/index.ts";
import { manualClock } from "../../core/index.ts";
import { every, noCounters } from "../../schedule/index.ts";
import { evaluationScores, latestCheckpoint, latestReplay, type TrainerHook } from "../../trainer/index.ts";
import { Logger } from "../logger/logger.ts";
import { comparable, observed, temporaryDirectory, timeless } from "./hook.test-support.ts";
import { MemoryStore } from "./store.test-support.ts";
import { StoreRecorder } from "./store-recorder.ts";

const evaluation: TrainerHook = {
  name: "evaluation",
  provides: [evaluationScores, latestReplay],
  onEpochEnd: ({ slots, counters }) => {
    slots.set(evaluationScores, { scores: { reward: counters.epochs }, counters });
    slots.set(latestReplay, { path: `replay-${counters.epochs}`, uri: null, counters });
  },
};

describe("a stats store", () => {
  it("gets the metrics, and beside them what happened in the run", async () => {
    const memory = new MemoryStore();
    const directory = temporaryDirectory();
    const checkpoint = checkpointHook({ directory, schedule: every({ epochs: 1 }) });
    const { keep, trainer } = observed(
      { ...timeless, statsStore: memory.store },
      { hooks: [evaluation, checkpoint] },
    );
    await trainer.train();
    expect([...memory.runs.values()]).toEqual(keep.runs);
    expect(memory.endings).toEqual(keep.endings);
    // Its windows are longer.
    expect(new Set(memory.records.map(({ key }) => key))).toEqual(
      new Set(keep.records.map(({ key }) => key)),
    );
    expect(memory.of("evaluation")).toMatchObject([
      { step: 7, name: "evaluation", scores: { reward: 1 } },
      { step: 14, scores: { reward: 2 } },
    ]);
    expect(memory.of("replay").map(({ step, path }) => [step, path])).toEqual([
      [7, "replay-1"],
      [14, "replay-2"],
    ]);
    expect(memory.of("checkpoint").map(({ step, path }) => [step, path.startsWith(directory)])).toEqual([
      [7, true],
      [14, true],
    ]);
    expect(memory.timings.map(({ hook, count }) => [hook, count])).toContainEqual(["evaluation", 2]);
    expect(memory.of("heartbeat").map(({ phase }) => phase)).toEqual(["none", "completed"]);
    expect(memory.of("intervention")).toEqual([]);
  });

  it("has a checkpoint as soon as it is saved, so that a run that is killed has filed it", async () => {
    const memory = new MemoryStore();
    const part = new StoreRecorder(memory.store, manualClock());
    const logger = new Logger({ sinks: [] });
    part.addTo(logger);
    logger.open({ id: "a", name: "a", startedAt: 0, config: null });
    const turn = () => new Promise(setImmediate);
    await turn();
    part.provided(latestCheckpoint, { path: "epoch-1", uri: null, counters: { ...noCounters, steps: 7 } });
    await turn();
    expect(memory.of("checkpoint")).toMatchObject([{ step: 7, path: "epoch-1" }]);
    await logger.close();
  });

  it("has the first heartbeat as soon as it knows the run, long before the first window", async () => {
    const memory = new MemoryStore();
    const part = new StoreRecorder(memory.store, manualClock());
    const logger = new Logger({ sinks: [] });
    part.addTo(logger);
    await part.heartbeats.add("a", "heartbeat", [{ wall: 0, step: 0, pid: 1, host: "here", phase: "none" }]);
    logger.open({ id: "a", name: "a", startedAt: 0, config: null });
    await new Promise(setImmediate);
    expect(memory.of("heartbeat")).toMatchObject([{ step: 0 }]);
    await logger.close();
  });

  it("hears why a run ended before its time", async () => {
    const memory = new MemoryStore();
    const stopping: TrainerHook = { name: "stopping", onEpochEnd: ({ stop }) => stop("good enough") };
    const { trainer } = observed({ ...timeless, statsStore: memory.store }, { hooks: [stopping] });
    await trainer.train();
    expect(memory.of("intervention")).toMatchObject([
      { step: 7, who: "run", what: "stopped", details: { reason: "good enough" } },
    ]);
  });

  it("hears what was decided about hooks, as runs of the same answer", async () => {
    const memory = new MemoryStore();
    const seldom: TrainerHook = {
      name: "seldom",
      schedule: every({ epochs: 2 }),
      onEpochEnd: () => undefined,
    };
    const choosy: TrainerHook = {
      name: "choosy",
      shouldRun: ({ counters }) => counters.updates > 10,
      onBatchEnd: () => undefined,
    };
    const { trainer } = observed(
      { ...timeless, statsStore: memory.store, heartbeat: false },
      { hooks: [seldom, choosy] },
    );
    await trainer.train();
    const of = (name: string) =>
      memory
        .of("decision")
        .filter(({ hook }) => hook === name)
        .map(({ ran, why, fromStep, toStep, times }) => [ran, why, fromStep, toStep, times]);
    expect(of("seldom")).toEqual([[true, "every 2 epochs is due", 14, 14, 1]]);
    expect(of("choosy")).toEqual([
      [false, "its shouldRun says no", 1, 10, 10],
      [true, "its shouldRun says yes", 11, 14, 4],
    ]);
  });

  it("hears of hooks that are disabled", async () => {
    const memory = new MemoryStore();
    const failing: TrainerHook = {
      name: "failing",
      onFailure: "disable",
      onEpochEnd: () => {
        throw new Error("no luck");
      },
    };
    const { trainer } = observed({ ...timeless, statsStore: memory.store }, { hooks: [failing] });
    await trainer.train();
    expect(memory.of("intervention")).toMatchObject([{ step: 7, who: "failing", what: "disabled" }]);
  });

  it("that fails for a while is missing nothing, and changes nothing elsewhere", async () => {
    const run = async (failing: number) => {
      const memory = new MemoryStore();
      memory.failing = failing;
      const { keep, trainer } = observed(
        { ...timeless, statsStore: memory.store, heartbeat: false },
        { hooks: [evaluation] },
      );
      await trainer.train();
      const events = memory.events.map(({ kind, row }) => [kind, row]);
      return { records: comparable(keep.records), metrics: comparable(memory.records).length, events };
    };
    const good = await run(0);
    const bad = await run(2);
    expect(bad.records).toEqual(good.records);
    expect(bad.events).toEqual(good.events);
    expect(bad.metrics).toBeGreaterThanOrEqual(good.metrics);
  });

  it("is not told of the checkpoint it resumes from again", async () => {
    const directory = temporaryDirectory();
    const run = async (epochs: number) => {
      const memory = new MemoryStore();
      const checkpoint = checkpointHook({ directory, schedule: every({ epochs: 1 }) });
      const { trainer } = observed(
        { ...timeless, statsStore: memory.store },
        { hooks: [evaluation, checkpoint], config: { epochs } },
      );
      await trainer.train();
      return memory;
    };
    const first = await run(1);
    const second = await run(3);
    expect([...second.runs.keys()]).toEqual([...first.runs.keys()]);
    expect([...second.runs.values()][0]).toMatchObject({ resumedAt: { updates: 7 } });
    const steps = (memory: MemoryStore, kind: "checkpoint" | "evaluation" | "replay") =>
      memory.of(kind).map(({ step }) => step);
    for (const kind of ["checkpoint", "evaluation", "replay"] as const) {
      expect(steps(first, kind), kind).toEqual([7]);
      expect(steps(second, kind), kind).toEqual([14, 21]);
    }
  });

  it("is given to the hook and not to the logger too", async () => {
    const memory = new MemoryStore();
    const first = observed({ ...timeless, statsStore: memory.store });
    const { logger } = first;
    expect(logger.sinks.length).toBe(2);
    expect(() => observed({ ...timeless, logger, statsStore: memory.store })).toThrow(
      /give the stats store to metricsHook alone/,
    );
  });
});
