import { describe, expect, it } from "vitest";
import { byMetric } from "./by-metric.ts";
import { counted, range } from "./moments.test-support.ts";
import { cosine, linear, type Ramp, warmup } from "./ramps.ts";

describe("warmup", () => {
  it("equals optax's and PyTorch's warm-up before a cosine", () => {
    // torch 2.15: LinearLR(start_factor=1e-12, total_iters=4), then CosineAnnealingLR(T_max=8), SequentialLR at 4;
    // optax 0.2.8: warmup_cosine_decay_schedule(0, 0.1, 4, 12, 0), which is the same to f32.
    const torch = [
      0, 0.025, 0.05, 0.075, 0.1, 0.09619397662556434, 0.08535533905932738, 0.0691341716182545, 0.05,
      0.030865828381745515, 0.014644660940672627, 0.0038060233744356634, 0, 0,
    ];
    const ramp = warmup({ updates: 4 }, cosine({ from: 0.1, to: 0, over: { updates: 8 } }));
    for (const i of range(0, 13))
      expect(ramp.at(counted({ updates: i }))).toBeCloseTo(torch[i] as number, 12);
  });

  it("is half of the first value in the middle, however long what follows is", () => {
    const ramp = warmup({ updates: 100 }, cosine({ from: 3e-4, to: 0, over: { updates: 10_000 } }));
    expect(ramp.at(counted({ updates: 50 }))).toBe(1.5e-4);
    expect(ramp.at(counted({ updates: 100 }))).toBe(3e-4);
    expect(ramp.at(counted({ updates: 10_100 }))).toBe(0);
  });

  it("begins where it is told, and takes a number for what follows", () => {
    const ramp = warmup({ epochs: 4 }, 1, { from: 0.5 });
    expect([0, 2, 4, 9].map((epochs) => ramp.at(counted({ epochs })))).toEqual([0.5, 0.75, 1, 1]);
    expect(ramp.describe()).toBe("warm-up from 0.5 over 4 epochs, then constant 1");
  });

  it("leaves a ramp in another unit where it is", () => {
    const ramp = warmup({ updates: 10 }, linear({ from: 1, to: 0, over: { epochs: 4 } }));
    expect(ramp.at(counted({ updates: 5, epochs: 2 }))).toBe(0.25);
    expect(ramp.at(counted({ updates: 20, epochs: 2 }))).toBe(0.5);
  });

  it("says which counters it and what follows read, where that says so, and copies are whole", () => {
    expect(warmup({ updates: 10 }, linear({ from: 1, to: 0, over: { epochs: 4 } })).units).toEqual([
      "updates",
      "epochs",
    ]);
    expect(warmup({ updates: 10 }, 0.1).units).toEqual(["updates"]);
    const copies: Ramp = { at: (counters) => ({ ...counters }).updates, describe: () => "copies" };
    expect(warmup({ updates: 10 }, copies).at(counted({ updates: 25 }))).toBe(15);
    expect(warmup({ updates: 10 }, copies).units).toBeUndefined();
  });

  it("passes on the metrics and the state of what follows", () => {
    const inner = byMetric({ metric: "train/reward", initial: 1 });
    const ramp = warmup({ updates: 10 }, inner);
    ramp.observe?.({ "train/reward": 3 });
    expect(ramp.follows).toEqual(["train/reward"]);
    expect(ramp.at(counted({ updates: 10 }))).toBe(3);
    expect(ramp.state).toBe(inner.state);
    expect(warmup({ updates: 10 }, 1)).not.toHaveProperty("observe");
  });
});
