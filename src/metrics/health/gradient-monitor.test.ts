import { describe, expect, it } from "vitest";
import { checkpointHook, memoryStore } from "../../checkpoint/index.ts";
import { EspalierError } from "../../core/index.ts";
import { put } from "../../engine/index.ts";
import { nn } from "../../index.ts";
import { adam, skipNonFinite } from "../../optim/index.ts";
import { every } from "../../schedule/index.ts";
import { hashState, type Stateful } from "../../state/index.ts";
import { supervisedTask } from "../../supervised/index.ts";
import { ran, type Simulation, simulate } from "../../testing/index.ts";
import { gradientHealth, Trainer, type TrainerHook } from "../../trainer/index.ts";
import { type GradientMonitorOptions, gradientMonitor } from "./gradient-monitor.ts";

const { NaN: nan, POSITIVE_INFINITY: infinite } = Number;

/** A run whose updates have these gradient norms. */
const runOf = (
  norms: readonly number[],
  { fuse = false, hook = gradientMonitor() }: { fuse?: boolean; hook?: TrainerHook | TrainerHook[] } = {},
  more: Parameters<typeof simulate>[1] = {},
): Promise<Simulation> =>
  simulate(hook, {
    batches: norms.length,
    fuse,
    values: ({ updates }) => ({ loss: 1, gradientNorm: norms[updates - 1] ?? 1 }),
    ...more,
  });

const causeOf = ({ error }: Simulation): EspalierError => (error as Error).cause as EspalierError;
const lastLog = ({ logged }: Simulation) => logged.at(-1)?.values;

describe("what it sees", () => {
  it("counts each ailment by its threshold, says the 1st and the 10th, and logs the counts", async () => {
    const norms = [...Array(10).fill(11), 1e-8, 10, 1e-7, nan, 1, infinite, 0.5];
    const run = await runOf(norms);
    expect(run.outcome).toBe("completed");
    expect(run.logged.at(-1)).toMatchObject({
      hook: "gradients",
      category: "health",
      values: {
        "gradients.exploding": 10,
        "gradients.vanishing": 1,
        "gradients.nan": 1,
        "gradients.infinite": 1,
      },
    });
    expect(run.warnings).toEqual([
      "gradients: gradients exploding in update 1: gradientNorm 11, above 10 (the 1st so far, said again at the 10th)",
      "gradients: gradients exploding in update 10: gradientNorm 11, above 10 (the 10th so far, said again at the 100th)",
      expect.stringContaining("gradients vanishing in update 11: gradientNorm 1e-8, below 1e-7"),
      expect.stringContaining("gradients not a number in update 14: gradientNorm NaN"),
      expect.stringContaining("gradients infinite in update 16: gradientNorm inf"),
    ]);
  });

  it("says nothing of healthy gradients", async () => {
    const run = await runOf([1, 2, 3]);
    expect(run.warnings).toEqual([]);
    expect(lastLog(run)).toMatchObject({ "gradients.nan": 0, "gradients.exploding": 0 });
  });

  it("provides how gradients are: the newest norm, the greatest of late", async () => {
    const run = await runOf([3, 50, ...Array(99).fill(2), nan, 4]);
    expect(run.slots.get(gradientHealth)).toEqual({ norm: 4, maxNorm: 4, skipped: 0 });
    const short = await runOf([3, 50, nan]);
    expect(short.slots.get(gradientHealth)).toEqual({ norm: nan, maxNorm: 50, skipped: 0 });
  });

  it("judges several values together", async () => {
    const hook = gradientMonitor({ values: ["first", "second"] });
    const run = await simulate(hook, {
      batches: 3,
      values: ({ updates }) => ({ first: updates === 2 ? 12 : 1, second: updates === 3 ? nan : 1 }),
    });
    expect(lastLog(run)).toMatchObject({ "gradients.exploding": 1, "gradients.nan": 1 });
  });

  it("looks at batches alone where rollouts are calls of their own", async () => {
    const run = await runOf(
      [1, nan],
      {},
      { epochs: 2, rollout: true, values: () => ({ gradientNorm: nan }) },
    );
    expect(causeOf(run).message).toMatch(/3 updates in a row, up to update 3 /);
  });
});

describe("halting", () => {
  it("fails the run after three in a row that are not finite, and names the update and what to do", async () => {
    const run = await runOf([1, nan, nan, 1, infinite, nan, infinite, 1]);
    expect(run.outcome).toBe("failed");
    expect(causeOf(run).code).toBe("GRADIENTS_NOT_FINITE");
    expect(causeOf(run).message).toMatch(
      /not finite in 3 updates in a row, up to update 7 \(gradientNorm inf\).*fix: lower the learning rate.*`halt` of gradients/s,
    );
  });

  it.each<[string, GradientMonitorOptions, readonly number[], string | undefined]>([
    ["exploding", { halt: { exploding: 2 } }, [20, 1, 20, 20, 1], "GRADIENTS_EXPLODING"],
    ["vanishing", { halt: { vanishing: 2 }, vanishing: 0.1 }, [0.05, 0.05, 1], "GRADIENTS_VANISHING"],
    ["a single one", { halt: { notFinite: 1 } }, [1, nan, 1], "GRADIENTS_NOT_FINITE"],
    ["three where another kind is told", { halt: { exploding: 9 } }, [nan, nan, nan], "GRADIENTS_NOT_FINITE"],
    ["none where it is off", { halt: { notFinite: false } }, [nan, nan, nan, nan], undefined],
    ["none at all", { halt: false }, [nan, nan, nan, nan], undefined],
    ["none of many that explode", {}, Array(20).fill(1e9), undefined],
  ])("halts at %s", async (_title, options, norms, code) => {
    const run = await runOf(norms, { hook: gradientMonitor(options) });
    expect(run.outcome).toBe(code ? "failed" : "completed");
    if (code) expect(causeOf(run).code).toBe(code);
  });

  it("notices what the very last batches did", async () => {
    for (const fuse of [true, false])
      expect((await runOf([1, nan, nan, nan], { fuse })).outcome).toBe("failed");
  });

  it("shows what is left of a call where the hook's failure stops nothing", async () => {
    const hook: TrainerHook = { ...gradientMonitor(), onFailure: "warn" };
    const run = await runOf(
      [nan, nan, nan, 50, 60, nan],
      { hook, fuse: true },
      { epochs: 2, validation: {} },
    );
    expect(run.outcome).toBe("completed");
    expect(lastLog(run)).toMatchObject({ "gradients.nan": 4, "gradients.exploding": 2 });
  });
});

describe("how work is cut", () => {
  const norms = Array.from({ length: 300 }, (_, i) =>
    i % 7 === 3 ? 40 : i % 50 === 9 ? nan : i % 11 === 1 ? 0 : 1,
  );

  it("changes nothing of what a hook that reads its slot sees", async () => {
    const rising = Array.from({ length: 130 }, (_, i) => i + 1);
    const seen = await Promise.all(
      [1, 7, 65].map(async (updates) => {
        const cut: TrainerHook = { name: "cut", schedule: every({ updates }), onBatchEnd: () => {} };
        const reads: unknown[] = [];
        const reader: TrainerHook = {
          name: "reader",
          wants: [gradientHealth],
          schedule: every({ updates: 65 }),
          onBatchEnd: ({ slots }) => void reads.push(slots.get(gradientHealth)),
        };
        await runOf(rising, { hook: [cut, reader, gradientMonitor({ exploding: 1000 })], fuse: true });
        return reads;
      }),
    );
    const healthy = (norm: number) => ({ norm, maxNorm: norm, skipped: 0 });
    expect(seen).toEqual(Array(3).fill([healthy(65), healthy(130)]));
  });

  it.each([
    ["a healthy run", [...norms, 1]],
    ["a run that halts", [...norms, nan, nan, nan, 1, 99, nan]],
  ])("changes nothing of %s", async (_title, all) => {
    const results = await Promise.all(
      [1, 7, all.length].map(async (updates) => {
        const hook = gradientMonitor();
        const cut: TrainerHook = { name: "cut", schedule: every({ updates }), onBatchEnd: () => {} };
        const run = await runOf(all, { hook: [cut, hook], fuse: true });
        const { outcome, warnings } = run;
        const message = run.error ? causeOf(run).message : "";
        return {
          ...{ outcome, warnings, message, counts: lastLog(run), health: run.slots.get(gradientHealth) },
          state: await hashState(await (hook.state as Stateful).getState()),
        };
      }),
    );
    expect(results[0]?.counts?.["gradients.exploding"]).toBeGreaterThan(40);
    expect(results[1]).toEqual(results[0]);
    expect(results[2]).toEqual(results[0]);
  });

  it("is not its business: batches stay fused over epochs", async () => {
    const run = await runOf([1, 1, 1, 1], { fuse: true }, { epochs: 3, values: () => ({ gradientNorm: 1 }) });
    expect(ran(run, "gradients", "batches", "onBatchesEnd")).toEqual([12]);
  });
});

describe("its state", () => {
  it("goes on in a resumed run: a streak that was begun is finished", async () => {
    const norms = [1, 1, nan, nan, nan, 1];
    const store = memoryStore();
    const part = (maxUpdates: number): Promise<Simulation> =>
      simulate([gradientMonitor(), checkpointHook({ store, schedule: every({ updates: 1 }) })], {
        batches: 6,
        fuse: true,
        values: ({ updates }) => ({ gradientNorm: norms[updates - 1] as number }),
        config: { maxUpdates },
      });
    expect((await part(4)).outcome).toBe("completed");
    const resumed = await part(6);
    expect(resumed.counters.updates).toBe(5);
    expect(resumed.error).toMatchObject({ code: "HOOK_FAILED" });
    expect(String(resumed.error)).toMatch(/3 updates in a row, up to update 5 .*GRADIENTS_NOT_FINITE/s);
  });

  it("is not given for a run that is to halt: the newest checkpoint is one from before", async () => {
    const store = memoryStore();
    const run = await simulate(
      [gradientMonitor(), checkpointHook({ store, schedule: every({ updates: 2 }) })],
      {
        batches: 6,
        values: ({ updates }) => ({ gradientNorm: updates > 3 ? nan : 1 }),
        fuse: true,
      },
    );
    expect(run.outcome).toBe("failed");
    expect(await store.list()).toEqual(["epoch-0000-update-000002", "epoch-0000-update-000004"]);
  });

  it("is that of one run: the next begins anew", async () => {
    const hook = gradientMonitor();
    await runOf([nan, nan], { hook });
    expect((await runOf([nan, nan], { hook })).outcome).toBe("completed");
  });

  it("refuses a state of something else", () => {
    expect(() => (gradientMonitor().state as Stateful).setState({ n: 1 })).toThrow(/STATE_INVALID/);
  });
});

describe("a task that trains on wasm", () => {
  const train = async (
    targets: number,
    monitor?: { gradients: true },
    optimizer = adam({ learningRate: 0.1 }),
  ) => {
    const warnings: string[] = [];
    const task = supervisedTask({
      model: nn.dense(1),
      optimizer,
      data: {
        x: Float32Array.from({ length: 8 }, (_, i) => i / 8),
        y: put(
          Float32Array.from({ length: 8 }, () => targets),
          { engine: "wasm" },
        ),
      },
      loss: (output, target) => output.sub(target).square().mean(),
      batchSize: 2,
      engine: "wasm",
      ...(monitor && { monitor }),
    });
    const trainer = new Trainer({
      task,
      hooks: [gradientMonitor()],
      config: { epochs: 2, handleSignals: false, onNonFinite: "ignore" },
      warn: (text) => void warnings.push(text),
    });
    const error = await trainer.train().then(
      () => undefined,
      (failure: unknown) => failure as Error,
    );
    return { trainer, warnings, error };
  };

  it("has its gradients judged", async () => {
    const { trainer, error, warnings } = await train(3, { gradients: true });
    expect(error).toBeUndefined();
    const health = trainer.hooks.slots.get(gradientHealth);
    expect(health?.norm).toBeGreaterThan(0);
    expect(health?.maxNorm).toBeGreaterThanOrEqual(health?.norm ?? nan);
    expect(warnings).toEqual([]);
  });

  it("is halted where its numbers are gone", async () => {
    const { error, warnings } = await train(nan, { gradients: true });
    expect(String(error)).toMatch(/3 updates in a row, up to update 3 \(gradientNorm NaN\)/);
    expect(warnings[0]).toMatch(/gradients not a number in update 1/);
  });

  it("has the updates counted that its optimizer left out", async () => {
    const { trainer } = await train(nan, { gradients: true }, skipNonFinite(adam()));
    expect(trainer.hooks.slots.get(gradientHealth)?.skipped).toBe(3);
  });

  it("is told how to report norms where it does not", async () => {
    const { error } = await train(3);
    expect(error?.cause).toMatchObject({ code: "METRIC_MISSING" });
    expect(String(error)).toMatch(/looks at "gradientNorm".*it reports loss.*monitor: { gradients: true }/s);
  });
});

describe("options", () => {
  it.each<[string, object, RegExp]>([
    ["misspelt names", { vanishing_: 1 }, /no option "vanishing_"; did you mean "vanishing"/],
    ["an ailment there is not", { halt: { nan: 3 } }, /halt: there is no option "nan"/],
    ["no values", { values: [] }, /values is \[\]/],
    ["a threshold that is no number", { exploding: "much" }, /exploding is "much"/],
    ["thresholds that cross", { vanishing: 1, exploding: 0.5 }, /exploding is 0.5, and vanishing is 1/],
    ["half an update", { halt: { notFinite: 1.5 } }, /halt: notFinite is 1.5.*whole number/s],
    ["a halt without a kind", { halt: 3 }, /halt is 3.*\{ notFinite: 3 \}/s],
  ])("refuses %s", (_title, options, message) => {
    expect(() => gradientMonitor(options as GradientMonitorOptions)).toThrow(message);
  });

  it("errors are Espalier's", () => {
    expect(() => gradientMonitor({ halt: { notFinite: 0 } })).toThrow(EspalierError);
  });
});
