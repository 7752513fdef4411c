import { describe, expect, it } from "vitest";
import { hookContext } from "../../testing/index.ts";
import type { TrainerContext, TrainingConfig } from "../../trainer/index.ts";
import { ProgressMeter } from "./meters.ts";

const moment = (
  counters: Readonly<Record<string, number>>,
  config: Partial<TrainingConfig> = {},
  epochShare = 0,
): TrainerContext => {
  const context = hookContext({ counters, config });
  return { ...context, state: { ...context.state, epochShare } };
};

describe("how far a run is", () => {
  it("counts epochs in parts", () => {
    const config = { epochs: 4 };
    const meter = new ProgressMeter(moment({}, config));
    expect(meter.read(moment({ seconds: 10, steps: 20 }, config, 0.5))).toMatchObject({
      ...{ unit: "epochs", done: 0.5, total: 4, rate: 2, left: 70 },
    });
    expect(meter.read(moment({ seconds: 20, steps: 40, epochs: 1 }, config))).toMatchObject({
      done: 1,
      left: 60,
    });
  });

  it("takes the goal that will be reached first", () => {
    const config = { epochs: 10, maxUpdates: 100, maxSamples: 1000, maxSeconds: 50 };
    const meter = new ProgressMeter(moment({}, config));
    const now = { seconds: 10, updates: 30, samples: 150, epochs: 1 };
    expect(meter.read(moment(now, config))).toMatchObject({ unit: "updates", done: 30, total: 100 });
    const later = { seconds: 40, updates: 60, samples: 300, epochs: 2 };
    expect(meter.read(moment(later, config))).toMatchObject({
      unit: "seconds",
      done: 40,
      total: 50,
      left: 10,
    });
  });

  it("knows no end of a run that has none", () => {
    const config = { epochs: Number.POSITIVE_INFINITY };
    const meter = new ProgressMeter(moment({}, config));
    expect(meter.read(moment({ seconds: 2, steps: 10 }, config))).toMatchObject({
      ...{ unit: "steps", done: 10, total: undefined, rate: 5, left: undefined },
    });
  });

  it("knows no rate before time has passed, and counts a resumed run from where it goes on", () => {
    const meter = new ProgressMeter(moment({ seconds: 100, steps: 1000 }));
    expect(meter.read(moment({ seconds: 100, steps: 1000 }))).toMatchObject({
      rate: undefined,
      left: undefined,
    });
    expect(meter.read(moment({ seconds: 101, steps: 1003 })).rate).toBe(3);
  });

  it("forgets how slow the beginning was", () => {
    const config = { epochs: 1000 };
    const meter = new ProgressMeter(moment({}, config));
    // A minute to compile and for one step, then ten steps a second.
    let rate = meter.read(moment({ seconds: 60, steps: 1 }, config)).rate as number;
    expect(rate).toBeLessThan(0.1);
    for (let i = 1; i <= 100; i++)
      rate = meter.read(moment({ seconds: 60 + i, steps: 1 + 10 * i }, config)).rate as number;
    expect(rate).toBeGreaterThan(9.5);
    expect(rate).toBeLessThanOrEqual(10);
  });

  it("is done where there is nothing to do, and never more than done", () => {
    const config = { epochs: 0 };
    expect(new ProgressMeter(moment({}, config)).read(moment({}, config))).toMatchObject({
      done: 0,
      total: 0,
    });
    const limited = { maxUpdates: 5 };
    const meter = new ProgressMeter(moment({}, limited));
    expect(meter.read(moment({ updates: 8 }, limited))).toMatchObject({ unit: "updates", done: 5 });
  });
});
