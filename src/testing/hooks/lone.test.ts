import { describe, expect, it } from "vitest";
import { manualClock } from "../../core/index.ts";
import { slot } from "../../hooks/index.ts";
import { every } from "../../schedule/index.ts";
import { evaluationScores, type TrainerHook } from "../../trainer/index.ts";
import { checkIdempotent, hookContext } from "../index.ts";

describe("hookContext", () => {
  it("is that of a run before its first batch where nothing is said", () => {
    const context = hookContext();
    expect(context).toMatchObject({ event: "onEpochEnd", rank: 0, values: undefined, since: undefined });
    expect(context.counters).toMatchObject({ epochs: 0, batches: 0 });
    expect(context.state).toMatchObject({ phase: "none", run: "run", seed: 0 });
    expect(context.clock.now()).toBe(0);
    expect(context.signal.aborted).toBe(false);
  });

  it("says what it is told", async () => {
    const clock = manualClock();
    const context = hookContext({
      event: "onBatchesEnd",
      counters: { batches: 7, episodes: 2 },
      since: { batches: 6 },
      values: { loss: 0.5 },
      validation: { accuracy: 0.9 },
      phase: "train",
      config: { rank: 1, ranks: 2, name: "mine" },
      components: { params: { getState: () => 3, setState: () => {} } },
      clock,
      error: "what failed",
      outcome: "failed",
      reason: "because",
    });
    expect(context.counters).toMatchObject({ batches: 7, episodes: 2, epochs: 0 });
    expect(context.since?.batches).toBe(6);
    expect(await context.state.metrics()).toEqual({ loss: 0.5 });
    const later = hookContext({ event: "onBatchEnd", values: { loss: 0.5 } });
    expect(await later.state.metrics()).toEqual({ loss: 0.5 });
    expect(later.values ?? later.state.values).toBeUndefined();
    expect(await context.values?.last()).toEqual({ loss: 0.5 });
    expect(await context.values?.read()).toEqual({ loss: Float32Array.of(0.5) });
    expect([context.values?.rows("loss"), context.values?.rows("other")]).toEqual([1, 0]);
    expect(context.values?.tensor("loss")?.shape).toEqual([1]);
    expect(context.state).toMatchObject({
      validation: { accuracy: 0.9 },
      phase: "train",
      run: "mine",
      rank: 1,
    });
    expect(await context.snapshot()).toEqual({ components: { params: 3 } });
    expect(context).toMatchObject({
      clock,
      error: "what failed",
      outcome: "failed",
      reason: "because",
      rank: 1,
    });
  });

  it("keeps what a handler did", () => {
    const best = slot<number>("best");
    const context = hookContext({ counters: { epochs: 3 }, slots: [[best, 1]] });
    const hook: TrainerHook = {
      name: "a",
      onEpochEnd({ slots, log, stop }) {
        slots.set(best, 2);
        log({ best: slots.get(best), before: slots.previous(best) }, "evaluation");
        stop("enough");
      },
    };
    hook.onEpochEnd?.(context);
    expect(context.logged).toEqual([
      { hook: "", values: { best: 2, before: 1 }, category: "evaluation", counters: context.counters },
    ]);
    expect(context.stops).toEqual(["enough"]);
    expect(context.slots.get(best)).toBe(2);
  });

  it("stands alone: schedules count it as one step", () => {
    expect(every({ epochs: 5 }).due(hookContext({ counters: { epochs: 10 } }))).toBe(true);
    expect(every({ epochs: 5 }).due(hookContext({ counters: { epochs: 11 } }))).toBe(false);
  });
});

describe("checkIdempotent", () => {
  it("passes a hook whose second call changes nothing", async () => {
    let best = 0;
    const hook: TrainerHook = {
      name: "best",
      wants: [evaluationScores],
      state: { getState: () => ({ best }), setState: () => {} },
      onEpochEnd({ slots, log }) {
        best = Math.max(best, slots.get(evaluationScores)?.scores.reward ?? 0);
        log({ best });
      },
    };
    const scores = { scores: { reward: 3 }, counters: hookContext().counters };
    expect(await checkIdempotent(hook, { slots: [[evaluationScores, scores]] })).toEqual({
      idempotent: true,
      differences: [],
    });
  });

  it("explains a state that counts calls", async () => {
    const state = { calls: 0 };
    const hook: TrainerHook = {
      name: "counter",
      state: { getState: () => state, setState: () => {} },
      onEpochEnd: () => void state.calls++,
    };
    const { idempotent, differences } = await checkIdempotent(hook);
    expect(idempotent).toBe(false);
    expect(differences).toEqual(["onEpochEnd: after the second call the state differs at calls: 1 and 2"]);
  });

  it("explains results, slots, logs, stops and effects that differ", async () => {
    const count = slot<number>("count");
    const files: string[] = [];
    let calls = 0;
    const hook: TrainerHook = {
      name: "counter",
      provides: [count],
      async onBatchEnd({ slots, log, stop }) {
        calls++;
        files.push(`${calls}.bin`);
        slots.set(count, calls);
        log({ calls });
        if (calls > 1) stop("twice");
        return { calls };
      },
    };
    const { differences } = await checkIdempotent(hook, { effects: () => files });
    expect(differences).toEqual([
      "onBatchEnd: it gave { calls: 2 } the second time, and { calls: 1 } the first time",
      "onBatchEnd: it set slots to { count: 2 } the second time, and { count: 1 } the first time",
      "onBatchEnd: it logged [ { values: { calls: 2 }, category: undefined } ] the second time, and [ { values: { calls: 1 }, category: undefined } ] the first time",
      "onBatchEnd: it stopped the run for [ 'twice' ] the second time, and [] the first time",
      "onBatchEnd: its effects were [ '1.bin', '2.bin' ] the second time, and [ '1.bin' ] the first time",
    ]);
  });

  it("tries the events it is told, and all that are handled otherwise", async () => {
    const called: string[] = [];
    const hook: TrainerHook = {
      name: "a",
      onBatchEnd: ({ event }) => void called.push(event),
      onEpochEnd: ({ event }) => void called.push(event),
    };
    await checkIdempotent(hook);
    expect(called.splice(0)).toEqual(["onBatchEnd", "onBatchEnd", "onEpochEnd", "onEpochEnd"]);
    await checkIdempotent(hook, { events: ["onEpochEnd"] });
    expect(called).toEqual(["onEpochEnd", "onEpochEnd"]);
  });

  it("refuses to check nothing", async () => {
    const hook: TrainerHook = { name: "a", onEpochEnd: () => {} };
    await expect(checkIdempotent(hook, { events: ["onBatchEnd"] })).rejects.toThrow(
      'hook "a" does not handle onBatchEnd',
    );
    await expect(checkIdempotent({ name: "empty" })).rejects.toThrow(
      'hook "empty" does not handle any event',
    );
  });
});
