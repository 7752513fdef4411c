import { describe, expect, it } from "vitest";
import { checkpointHook, memoryStore } from "../../checkpoint/index.ts";
import type { EspalierError } from "../../core/index.ts";
import { every } from "../../schedule/index.ts";
import { hashState, type Stateful } from "../../state/index.ts";
import { ran, type Simulation, simulate } from "../../testing/index.ts";
import type { TrainerHook } from "../../trainer/index.ts";
import { type LossSpike, type LossSpikeOptions, lossSpikeDetector } from "./loss-spike-detector.ts";

const calm = (length: number, level = 1): number[] => Array<number>(length).fill(level);

/** A run whose batches have these losses. */
const runOf = (
  losses: readonly number[],
  options: LossSpikeOptions = {},
  more: Parameters<typeof simulate>[1] = {},
): Promise<Simulation> =>
  simulate(lossSpikeDetector(options), {
    batches: losses.length,
    values: ({ batches }) => ({ loss: losses[batches - 1] as number }),
    ...more,
  });

/** The updates whose losses were spikes. */
async function spikesOf(
  losses: readonly number[],
  options: LossSpikeOptions = {},
): Promise<readonly number[]> {
  const found: number[] = [];
  const onSpike = (_context: unknown, { update }: LossSpike) => void found.push(update);
  await runOf(losses, { ...options, onSpike });
  return found;
}

describe("what a spike is", () => {
  it("is a loss above twice the median of the ten before it, and of that many at least", async () => {
    expect(await spikesOf([...calm(10), 2, 2.01, 1])).toEqual([12]);
    expect(await spikesOf([...calm(9), 100, 1])).toEqual([]);
    expect(await spikesOf([...calm(3), 5, 1], { window: 3, factor: 5.1 })).toEqual([]);
    expect(await spikesOf([...calm(3), 5.2, 1], { window: 3, factor: 5.1 })).toEqual([4]);
  });

  it("is not hidden by the spike before it, and no longer one when the loss has moved for good", async () => {
    expect(await spikesOf([...calm(10), 100, 1, 3, 1])).toEqual([11, 13]);
    expect(await spikesOf([...calm(10), ...calm(12, 3)])).toEqual([11, 12, 13, 14, 15]);
  });

  it("is measured from where losses are, if they are negative", async () => {
    const around = [-5, -5.1, -4.9, -5, -5.2, -5, -4.8, -5, -5.1, -5];
    expect(await spikesOf([...around, -4, -6, -10, -0.1, 0.1])).toEqual([15]);
  });

  it("is measured by their spread, if they are around 0", async () => {
    const around = [0.01, -0.01, 0.02, -0.02, 0.01, -0.01, 0.015, -0.015, 0.01, -0.02];
    expect(await spikesOf([...around, 0.05, -0.3, 0.5])).toEqual([13]);
    expect(await spikesOf([...calm(10, 0), 1e-9, 0, 0.01])).toEqual([13]);
  });

  it("is never a loss that is not finite: those are counted by themselves and left out of the window", async () => {
    const run = await runOf([...calm(5), Number.NaN, ...calm(5), Number.POSITIVE_INFINITY, 3]);
    expect(run.logged.at(-1)).toMatchObject({
      hook: "lossSpikes",
      category: "health",
      values: { "lossSpikes.spikes": 1, "lossSpikes.notFinite": 2 },
    });
    expect(run.warnings[0]).toBe(
      "lossSpikes: loss is NaN in update 6 (the 1st so far, said again at the 10th)",
    );
  });
});

describe("what it does", () => {
  it("warns with the figures, seldom", async () => {
    const losses = [...calm(10), ...Array.from({ length: 24 }, (_, i) => (i % 2 === 0 ? 3 : 1))];
    const run = await runOf(losses);
    expect(run.warnings).toEqual([
      "lossSpikes: loss 3 in update 11 is above 2: the median of the last 10 is 1 (the 1st so far, said again at the 10th)",
    ]);
  });

  it("shows each spike to onSpike with a context to act on, and waits for it", async () => {
    const spikes: LossSpike[] = [];
    const run = await runOf([...calm(10), 3, 1], {
      value: "loss",
      onSpike: async (context, spike) => {
        await Promise.resolve();
        spikes.push(spike);
        context.stop("a spike");
      },
    });
    expect(spikes).toEqual([{ update: 11, batch: 11, loss: 3, median: 1, limit: 2, count: 1 }]);
    expect(run.outcome).toBe("stopped");
  });

  it("fails the run after so many in a row", async () => {
    const run = await runOf([...calm(10), 3, 1, 3, 4, 5, 1], { halt: 3 });
    const error = (run.error as Error).cause as EspalierError;
    expect(error.code).toBe("LOSS_SPIKES");
    expect(error.message).toMatch(
      /3 spikes in a row; loss 5 in update 15 is above 2.*fix: lower the learning rate/s,
    );
    expect((await runOf([...calm(10), 3, 1, 3, 1], { halt: 2 })).outcome).toBe("completed");
  });

  it("does not depend on how batches were cut, and leaves them fused", async () => {
    const losses = Array.from({ length: 200 }, (_, i) =>
      i % 13 === 5 ? 9 : i % 31 === 7 ? Number.NaN : 1 + (i % 3),
    );
    const results = await Promise.all(
      [1, 9, 200].map(async (updates) => {
        const spikes: LossSpike[] = [];
        const hook = lossSpikeDetector({ onSpike: (_context, spike) => void spikes.push(spike) });
        const cut: TrainerHook = { name: "cut", schedule: every({ updates }), onBatchEnd: () => {} };
        const values = ({ batches }: { batches: number }) => ({ loss: losses[batches - 1] as number });
        const run = await simulate([hook, cut], { batches: 200, values, fuse: true });
        const state = await hashState(await (hook.state as Stateful).getState());
        return { spikes, warnings: run.warnings, logged: run.logged.at(-1)?.values, state };
      }),
    );
    expect(results[0]?.spikes.length).toBeGreaterThan(5);
    expect(results[1]).toEqual(results[0]);
    expect(results[2]).toEqual(results[0]);
    const run = await runOf(calm(12), {}, { fuse: true, epochs: 2, values: () => ({ loss: 1 }) });
    expect(ran(run, "lossSpikes", "batches", "onBatchesEnd")).toEqual([24]);
  });

  it("goes on in a resumed run, with the window it had and what it had not told yet", async () => {
    const losses = [...calm(10), 3, 1, 4, 1];
    const part = async (store: ReturnType<typeof memoryStore>, maxUpdates: number) => {
      const told: number[] = [];
      const onSpike = (_context: unknown, { update, count }: LossSpike) => void told.push(update, count);
      await simulate(
        [lossSpikeDetector({ onSpike }), checkpointHook({ store, schedule: every({ updates: 1 }) })],
        {
          batches: losses.length,
          values: ({ batches }) => ({ loss: losses[batches - 1] as number }),
          config: { maxUpdates },
        },
      );
      return told;
    };
    const store = memoryStore();
    expect(await part(store, 11)).toEqual([11, 1]);
    // The save at update 11 had told nobody yet: better twice than never.
    expect(await part(store, 14)).toEqual([11, 1, 13, 2]);
    const whole = memoryStore();
    expect(await part(whole, 14)).toEqual([11, 1, 13, 2]);
  });

  it("refuses a state of something else", () => {
    expect(() => (lossSpikeDetector().state as Stateful).setState({ losses: [1] })).toThrow(/STATE_INVALID/);
  });
});

describe("bad input", () => {
  it.each<[string, object, RegExp]>([
    ["misspelt names", { windw: 3 }, /no option "windw"; did you mean "window"/],
    ["no window", { window: 0 }, /window is 0/],
    ["a factor that finds spikes everywhere", { factor: 1 }, /factor is 1.*above 1/s],
    ["a value without a name", { value: "" }, /value is ""/],
    ["onSpike that is no function", { onSpike: "stop" }, /onSpike is "stop"/],
    ["a halt that can never come", { halt: 6 }, /halt is 6.*at most 5, or a wider window/s],
  ])("refuses %s", (_title, options, message) => {
    expect(() => lossSpikeDetector(options as LossSpikeOptions)).toThrow(message);
  });

  it("says what is reported where there is no such value", async () => {
    const run = await runOf(calm(3), { value: "los" });
    expect(String(run.error)).toMatch(/looks at "los".*did you mean "loss".*METRIC_MISSING/s);
  });
});
