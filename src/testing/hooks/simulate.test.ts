import { describe, expect, it } from "vitest";
import { manualClock } from "../../core/index.ts";
import { compositeHook, PeriodicHook, slot } from "../../hooks/index.ts";
import { every } from "../../schedule/index.ts";
import type { StateTree } from "../../state/index.ts";
import {
  evaluationScores,
  type TrainerContext,
  type TrainerHook,
  trainerEvents,
} from "../../trainer/index.ts";
import { failing, orderOf, ran, simulate } from "../index.ts";

const everything: TrainerHook = {
  name: "all",
  ...Object.fromEntries(trainerEvents.map((event) => [event, () => {}])),
};

const eventsOf = (run: { readonly calls: readonly { readonly event: string }[] }): readonly string[] =>
  run.calls.map(({ event }) => event);

const batch = ["onBatchStart", "onBatchesEnd", "onBatchEnd"];

describe("a scripted run", () => {
  it("has the trainer's events in their order", async () => {
    const run = await simulate(everything, { epochs: 2, batches: 2 });
    const epoch = ["onEpochStart", ...batch, ...batch, "onTrainPhaseEnd", "onEpochEnd"];
    expect(eventsOf(run)).toEqual(["onTrainingStart", ...epoch, ...epoch, "onTrainingEnd"]);
    expect(run).toMatchObject({ outcome: "completed", error: undefined, warnings: [] });
    expect(run.counters).toMatchObject({ epochs: 2, batches: 4, updates: 4, steps: 4, samples: 4 });
  });

  it("may gather experience and validate", async () => {
    const run = await simulate(everything, {
      batches: 1,
      rollout: 100,
      validation: ({ epochs }) => ({ accuracy: epochs / 10 }),
    });
    expect(eventsOf(run)).toEqual([
      "onTrainingStart",
      "onEpochStart",
      "onRolloutStart",
      "onBatchesEnd",
      "onRolloutEnd",
      ...batch,
      "onTrainPhaseEnd",
      "onValidationStart",
      "onValidationEnd",
      "onEpochEnd",
      "onTrainingEnd",
    ]);
    expect(run.counters.samples).toBe(100);
  });

  it("tells hooks what batches and validations reported", async () => {
    const seen: unknown[] = [];
    const { metrics } = await simulate(
      {
        name: "reader",
        onBatchEnd: async ({ state }) => void seen.push(await state.metrics()),
        onEpochEnd: ({ state }) => void seen.push(state.validation),
      },
      { batches: 2, values: ({ batches }) => ({ loss: batches * 10 }), validation: { accuracy: 0.5 } },
    );
    expect(seen).toEqual([{ loss: 10 }, { loss: 20 }, { accuracy: 0.5 }]);
    expect(metrics).toEqual({ loss: 20 });
  });

  it("counts samples and moves the clock", async () => {
    const clock = manualClock();
    const run = await simulate(
      { name: "timer", schedule: every({ seconds: 2 }), onBatchEnd: () => {} },
      { batches: 10, samplesPerBatch: 32, secondsPerBatch: 0.5, clock },
    );
    expect(ran(run, "timer", "samples")).toEqual([128, 256]);
    expect(run.clock).toBe(clock);
    expect(clock.now()).toBe(5000);
  });

  it("fuses what nobody watches where it is asked to, with the same calls", async () => {
    const stacked: number[] = [];
    const hooks: readonly TrainerHook[] = [
      { name: "every four", schedule: every({ batches: 4 }), onBatchEnd: () => {} },
      { name: "values", onBatchesEnd: ({ values }) => void stacked.push(values?.count ?? 0) },
    ];
    const one = await simulate(hooks, { batches: 12 });
    const separate = stacked.splice(0);
    const fused = await simulate(hooks, { batches: 12, fuse: true });
    expect(ran(fused, "every four", "batches")).toEqual(ran(one, "every four", "batches"));
    expect(separate).toEqual(Array(12).fill(1));
    expect(stacked.reduce((sum, count) => sum + count)).toBe(12);
    expect(stacked.length).toBeLessThan(12);
  });

  it("fails where the script says so", async () => {
    const run = await simulate(everything, { batches: 5, failAt: 3 });
    expect(run.outcome).toBe("failed");
    expect(String(run.error)).toContain("batch 3 was to fail");
    expect(eventsOf(run).slice(-3)).toEqual(["onBatchStart", "onError", "onTrainingEnd"]);
  });

  it("ends where a hook stops it, however often it says so", async () => {
    const run = await simulate({
      name: "early",
      onBatchEnd: ({ counters, stop }) => {
        if (counters.batches === 3) stop("good enough");
        if (counters.batches === 3) stop("again");
      },
    });
    expect(run).toMatchObject({ outcome: "stopped", reason: "good enough" });
    expect(ran(run, "early", "batches")).toEqual([1, 2, 3]);
  });

  it("lets hooks read components", async () => {
    const params = { getState: () => ({ w: 3 }), setState: () => {} };
    const seen: StateTree[] = [];
    await simulate(
      {
        name: "save",
        onEpochEnd: async ({ snapshot }) => void seen.push((await snapshot(["params"])).components),
      },
      { components: { params } },
    );
    expect(seen).toEqual([{ params: { w: 3 } }]);
  });

  it("is on another rank where the config says so", async () => {
    const run = await simulate(
      [
        { name: "main", onEpochEnd: () => {} },
        { name: "all", ranks: "all", onEpochEnd: () => {} },
      ],
      { config: { rank: 1, ranks: 2 } },
    );
    expect(orderOf(run, "onEpochEnd")).toEqual([["all"]]);
  });

  it("refuses hooks that cannot be registered, with the error a user would get", async () => {
    const wrong = { name: "a", onEpochEdn: () => {} } as unknown as TrainerHook;
    await expect(simulate(wrong)).rejects.toThrow('did you mean "onEpochEnd"?');
    await expect(simulate({ name: "a", needs: [slot("x")], onEpochEnd: () => {} })).rejects.toThrow(
      "needs the slot",
    );
  });
});

describe("what is recorded", () => {
  const evaluation: TrainerHook = {
    name: "evaluation",
    provides: [evaluationScores],
    schedule: every({ epochs: 2 }),
    onEpochEnd: ({ slots, counters }) =>
      slots.set(evaluationScores, { scores: { reward: counters.epochs }, counters }),
  };
  const metrics: TrainerHook = {
    name: "metrics",
    wants: [evaluationScores],
    onEpochEnd: ({ slots, log }) => {
      log({ reward: slots.get(evaluationScores)?.scores.reward }, "evaluation");
      return { logged: true };
    },
  };

  it("are calls, results, logged values, slots and the plan", async () => {
    const run = await simulate([metrics, evaluation], { epochs: 2, batches: 3 });
    expect(orderOf(run, "onEpochEnd")).toEqual([["metrics"], ["evaluation", "metrics"]]);
    expect(ran(run, "evaluation", "epochs")).toEqual([2]);
    expect(ran(run, "metrics", "batches", "onEpochEnd")).toEqual([3, 6]);
    expect(ran(run, "metrics", "batches", "onBatchEnd")).toEqual([]);
    expect(run.calls[0]).toMatchObject({ hook: "metrics", event: "onEpochEnd", result: { logged: true } });
    expect(run.logged.map(({ hook, values, category }) => [hook, values, category])).toEqual([
      ["metrics", { reward: undefined }, "evaluation"],
      ["metrics", { reward: 2 }, "evaluation"],
    ]);
    expect(run.slots.get(evaluationScores)?.scores).toEqual({ reward: 2 });
    expect(run.plan).toContain('after evaluation (metrics wants "evaluation.scores")');
    expect(run.timings.map(({ hook, count }) => [hook, count])).toEqual([
      ["metrics", 2],
      ["evaluation", 1],
    ]);
  });

  it("covers the children of composites, under their own names", async () => {
    const run = await simulate(compositeHook({ name: "both", hooks: [metrics, evaluation] }), { epochs: 2 });
    expect(orderOf(run, "onEpochEnd")).toEqual([["metrics"], ["evaluation", "metrics"]]);
  });

  it("covers what asynchronous calls gave and what failed", async () => {
    const run = await simulate({
      name: "a",
      onFailure: "warn",
      onEpochStart: async () => ({ late: 1 }),
      onEpochEnd: async () => {
        throw new Error("no");
      },
      onTrainingEnd: () => {
        throw new Error("never");
      },
    });
    expect(run.calls.map(({ result, error }) => [result, (error as Error | undefined)?.message])).toEqual([
      [{ late: 1 }, undefined],
      [undefined, "no"],
      [undefined, "never"],
    ]);
    expect(run.warnings).toHaveLength(2);
  });

  it("works with classes that keep things to themselves, and with frozen hooks", async () => {
    class Counting extends PeriodicHook<TrainerContext> {
      #count = 0;
      constructor() {
        super({ name: "counting", schedule: every({ epochs: 1 }) });
      }
      get count(): number {
        return this.#count;
      }
      override shouldRun(): boolean {
        return this.#count < 2;
      }
      override run(): unknown {
        this.#count++;
        return { "counting.count": this.#count };
      }
    }
    const counting = Object.freeze(new Counting());
    const run = await simulate([counting, Object.freeze({ name: "frozen", onEpochEnd: () => {} })], {
      epochs: 4,
    });
    expect(counting.count).toBe(2);
    expect(ran(run, "counting", "epochs")).toEqual([1, 2]);
  });

  it("leaves the hooks as they were", async () => {
    const before = { ...metrics };
    await simulate([metrics, evaluation]);
    expect(metrics).toEqual(before);
  });
});

describe("injected failures", () => {
  const hook = (name: string, more: Partial<TrainerHook> = {}): TrainerHook => ({
    name,
    onEpochStart: () => {},
    onEpochEnd: () => ({ [name]: true }),
    ...more,
  });

  it("make a hook fail at its n-th call", async () => {
    const run = await simulate([hook("a"), hook("b")], { epochs: 3, failures: [{ hook: "b", call: 3 }] });
    expect(run.outcome).toBe("failed");
    expect(String(run.error)).toContain('hook "b" failed in onEpochStart: injected into call 3 of "b"');
    expect(ran(run, "b", "epochs")).toEqual([0, 1, 1]);
  });

  it("may count one event only, reject, and bring their own error", async () => {
    const error = new Error("connection lost");
    const run = await simulate(hook("a", { onFailure: "warn" }), {
      epochs: 3,
      failures: [{ hook: "a", event: "onEpochEnd", call: 2, error, async: true }],
    });
    expect(run.outcome).toBe("completed");
    expect(run.warnings).toEqual([expect.stringContaining('hook "a" failed in onEpochEnd: connection lost')]);
    expect(run.calls.filter((call) => call.error === error).map(({ counters }) => counters.epochs)).toEqual([
      2,
    ]);
  });

  it("can be put around a hook without a simulation of failures", async () => {
    const run = await simulate(failing(hook("a", { onFailure: "disable" })), { epochs: 3 });
    expect(run.calls).toHaveLength(1);
    expect(run.warnings).toEqual([expect.stringContaining("it is disabled")]);
  });

  it("must name a hook that is there", async () => {
    await expect(simulate(hook("a"), { failures: [{ hook: "b" }] })).rejects.toThrow(
      /"b" is to fail, and there is no such hook.*the hooks are a/s,
    );
  });
});
