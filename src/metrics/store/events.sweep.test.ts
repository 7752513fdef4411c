import { describe, expect, it } from "vitest";
import { noCounters } from "../../schedule/index.ts";
import type { DecisionRow, EpisodeRow, RunEvents } from "./stats-store.ts";
import { aRun, sweepStores } from "./stores.test-support.ts";

const examples: { readonly [K in keyof RunEvents]: readonly RunEvents[K][] } = {
  evaluation: [
    {
      step: 10,
      name: "held out",
      scores: { accuracy: 0.5, loss: NaN, worst: -Infinity, tiny: 1e-17 },
      wall: 1,
    },
    { step: 20, name: "held out", scores: {}, wall: 2 },
  ],
  episode: [
    { step: 1, return: -21.5, length: 200, wall: 1 },
    { step: 2, return: NaN, length: 3, wall: 2, info: { seed: 7, won: [true, null] } },
    { step: 3, return: Infinity, length: 3, wall: 2, info: null },
    { step: 4, return: 1e-17, length: 3, wall: 2 },
  ],
  replay: [{ step: 5, path: "replays/5.mp4", uri: undefined, wall: 1 }],
  checkpoint: [
    { step: 5, path: "checkpoints/5", uri: "s3://bucket/5", wall: 1 },
    { step: 10, path: "checkpoints/10", uri: undefined, wall: 2 },
  ],
  heartbeat: [{ step: 5, wall: 1234, pid: 42, host: "here", phase: "rollout" }],
  decision: [{ hook: "eval", event: "onEpochEnd", ran: true, why: "due", fromStep: 5, toStep: 5, times: 1 }],
  intervention: [
    { step: 5, wall: 1, who: "a person", what: "disabled a hook", details: { hook: "eval\0" } },
    { step: 6, wall: 2, who: "monitor", what: "halted the run" },
  ],
};

sweepStores("events", ({ open }) => {
  it.each(Object.keys(examples) as (keyof RunEvents)[])(
    "of kind %s come back as they were filed",
    async (kind) => {
      const store = await open();
      await store.startRun(aRun("a"));
      await store.startRun(aRun("b"));
      expect(await store.list("a", kind)).toEqual([]);
      await store.add("a", kind, examples[kind]);
      await store.add("b", kind, examples[kind].slice(0, 1));
      expect(await store.list("a", kind)).toEqual(examples[kind]);
    },
  );

  it("may be equal within a call, and are not filed again by another", async () => {
    const store = await open();
    await store.startRun(aRun("a"));
    const episode: EpisodeRow = { step: 1, return: 500, length: 500, wall: 1 };
    await store.add("a", "episode", [episode, episode, episode]);
    await store.add("a", "episode", [episode, episode, episode, { ...episode, step: 2 }]);
    expect((await store.list("a", "episode")).map(({ step }) => step)).toEqual([1, 1, 1, 2]);
  });

  it("may be many", async () => {
    const store = await open();
    await store.startRun(aRun("a"));
    const rows = Array.from({ length: 1201 }, (_, step) => ({ step, return: step, length: 1, wall: 1 }));
    await store.add("a", "episode", rows);
    expect(await store.list("a", "episode")).toEqual(rows);
  });

  it("tell when a run was last alive", async () => {
    const store = await open();
    await store.startRun(aRun("a"));
    const beat = { step: 1, pid: 1, host: "here", phase: "train" };
    await store.add("a", "heartbeat", [
      { ...beat, wall: 100 },
      { ...beat, wall: 300 },
      { ...beat, wall: 200 },
    ]);
    expect(await store.run("a")).toMatchObject({ heartbeat: 300 });
  });

  describe("decisions about hooks", () => {
    const skip = (fromStep: number, toStep: number, more: Partial<DecisionRow> = {}): DecisionRow => ({
      ...{ hook: "eval", event: "onEpochEnd", ran: false, why: "not due until 100", fromStep, toStep },
      times: toStep - fromStep + 1,
      ...more,
    });
    const ran = (step: number): DecisionRow => skip(step, step, { ran: true, why: "due" });

    it("that say the same, one after the other, are one", async () => {
      const store = await open();
      await store.startRun(aRun("a"));
      await store.add("a", "decision", [skip(1, 50), skip(51, 60)]);
      await store.add("a", "decision", [skip(61, 99), ran(100)]);
      await store.add("a", "decision", [skip(1, 10, { hook: "other" }), ran(101), skip(102, 120)]);
      expect(await store.list("a", "decision")).toEqual([
        skip(1, 99),
        { ...ran(100), toStep: 101, times: 2 },
        skip(1, 10, { hook: "other" }),
        skip(102, 120),
      ]);
    });

    it("that are told again change nothing", async () => {
      const store = await open();
      await store.startRun(aRun("a"));
      const rows = [skip(1, 50), skip(51, 99), ran(100), skip(101, 150)];
      await store.add("a", "decision", rows);
      const filed = await store.list("a", "decision");
      expect(filed).toHaveLength(3);
      await store.add("a", "decision", rows.slice(2));
      await store.add("a", "decision", rows.slice(3));
      expect(await store.list("a", "decision")).toEqual(filed);
      // The same stretch, which has become longer.
      await store.add("a", "decision", [skip(101, 200)]);
      expect((await store.list("a", "decision")).at(-1)).toEqual(skip(101, 200));
    });

    it("are cut where a run is resumed", async () => {
      const store = await open();
      await store.startRun(aRun("a"));
      await store.add("a", "decision", [skip(1, 99), ran(100), skip(101, 200), ran(201)]);
      await store.startRun(aRun("a", { startedAt: 2, resumedAt: { ...noCounters, steps: 150 } }));
      expect(await store.list("a", "decision")).toEqual([skip(1, 99), ran(100), skip(101, 150)]);
    });
  });

  it("timings of hooks replace what was known of these hooks, the longest first", async () => {
    const store = await open();
    await store.startRun(aRun("a"));
    const timing = { count: 10, mean: 0.5, p99: 2, max: 3, total: 5 };
    await store.setHookTimings("a", [
      { hook: "short", ...timing },
      { hook: "long", ...timing, total: 50 },
    ]);
    await store.setHookTimings("a", [{ hook: "short", ...timing, count: 20, total: 10, mean: NaN }]);
    expect(await store.hookTimings("a")).toEqual([
      { hook: "long", ...timing, total: 50 },
      { hook: "short", ...timing, count: 20, total: 10, mean: NaN },
    ]);
  });
});
