import { describe, expect, it } from "vitest";
import { systemClock } from "../../core/index.ts";
import { put } from "../../engine/index.ts";
import { type Counters, noCounters } from "../../schedule/index.ts";
import { SystemProbe } from "./meters.ts";
import type { MetricsHookOptions } from "./metrics-hook.ts";
import { metricsHook } from "./metrics-hook.ts";
import { latestOf, newRunId } from "./run-recorder.ts";
import { DecisionLog } from "./store-recorder.ts";

const at = (steps: number): Counters => ({ ...noCounters, steps, updates: steps });

describe("decisions about hooks", () => {
  const decide = (steps: number, ran: boolean, why: string, hook = "save") => ({
    ...{ hook, event: "onBatchEnd", ran, why, counters: at(steps) },
  });

  it("are kept as runs of the same answer", () => {
    const log = new DecisionLog();
    for (let step = 1; step <= 1000; step++) log.note(decide(step, false, "not due"));
    log.note(decide(1001, true, "due"));
    log.note(decide(1001, true, "due", "other"));
    expect(log.take()).toEqual([
      {
        ...{ hook: "save", event: "onBatchEnd", ran: false, why: "not due" },
        ...{ fromStep: 1, toStep: 1000, times: 1000 },
      },
    ]);
    expect(log.take()).toEqual([]);
    expect(log.takeAll().map(({ hook, times }) => [hook, times])).toEqual([
      ["save", 1],
      ["other", 1],
    ]);
    expect(log.takeAll()).toEqual([]);
  });

  it("are told while they go on, as often as they have grown", () => {
    const log = new DecisionLog();
    log.note(decide(1, true, "due"));
    expect(log.takeGrown()).toMatchObject([{ fromStep: 1, toStep: 1, times: 1 }]);
    expect(log.takeGrown()).toEqual([]);
    log.note(decide(2, true, "due"));
    expect(log.takeGrown()).toMatchObject([{ fromStep: 1, toStep: 2, times: 2 }]);
    expect(log.takeAll()).toMatchObject([{ fromStep: 1, toStep: 2, times: 2 }]);
  });

  it("go on in a resumed run", () => {
    const log = new DecisionLog();
    log.note(decide(1, false, "not due"));
    log.note(decide(2, false, "not due"));
    const resumed = new DecisionLog();
    resumed.setState(JSON.parse(JSON.stringify(log.getState())) as never);
    resumed.note(decide(3, false, "not due"));
    expect(resumed.takeAll()).toMatchObject([{ fromStep: 1, toStep: 3, times: 3 }]);
  });
});

describe("the machine", () => {
  it("is read in plausible numbers", async () => {
    const probe = new SystemProbe(systemClock);
    const tensor = put(new Float32Array(1000), { engine: "wasm" });
    const before = performance.now();
    while (performance.now() - before < 60);
    await new Promise((resolve) => setImmediate(resolve));
    const reading = probe.read();
    probe.close();
    expect(reading["cpu.process"]).toBeGreaterThan(0);
    expect(reading["cpu.machine"]).toBeGreaterThanOrEqual(0);
    expect(reading["cpu.machine"]).toBeLessThanOrEqual(1);
    expect(reading["memory.resident"]).toBeGreaterThan(reading["memory.heap"]);
    expect(reading["memory.device"]).toBeGreaterThanOrEqual(4000);
    expect(reading.tensors).toBeGreaterThanOrEqual(1);
    expect(Object.values(reading).every(Number.isFinite)).toBe(true);
    tensor.dispose();
  });
});

describe("the newest metrics", () => {
  it("go by the names of batches' values, without scores and what no two runs share", () => {
    let asked = 0;
    const latest = () => {
      asked++;
      return {
        ...{ "train/loss": 1, "train/gradientNorm/out": 2, "rollout/reward": 3, "time/stepsPerSecond": 4 },
        ...{ "system/tensors": 5, "validation/loss": 6, "evaluation/reward": 7 },
      };
    };
    const found = latestOf({ latest }, at(3));
    expect(asked).toBe(0);
    expect(found.metrics).toEqual({ loss: 1, "gradientNorm/out": 2, "rollout/reward": 3 });
    expect(found.metrics).toBe(found.metrics);
    expect(asked).toBe(1);
    expect(found.counters.steps).toBe(3);
  });
});

describe("a run's id", () => {
  it("can be read, and filed anywhere", () => {
    const wall = Date.UTC(2025, 0, 2, 3, 4, 5);
    expect(newRunId("MNIST, small!", wall)).toMatch(/^mnist-small-20250102-030405-[0-9a-f]{6}$/);
    expect(newRunId("../..", wall)).toMatch(/^run-2025/);
    expect(newRunId("x".repeat(300), wall).length).toBeLessThan(70);
    expect(newRunId("a", wall)).not.toBe(newRunId("a", wall));
  });
});

describe("the options of a metrics hook", () => {
  const logger = { as: () => undefined } as unknown as MetricsHookOptions["logger"];
  const made = (options: object) => () => metricsHook({ logger, ...options } as MetricsHookOptions);

  it("are checked", () => {
    expect(made({ logger: undefined })).toThrow(/metricsHook: logger is missing .*OPTION_INVALID/);
    expect(made({ sytem: true })).toThrow(/no option "sytem"; did you mean "system"/);
    expect(made({ system: { every: 3 } })).toThrow(/system: there is no option "every"/);
    expect(made({ timing: { schedule: 10 } })).toThrow(/timing: schedule is 10/);
    expect(made({ run: { id: "a/b" } })).toThrow(/run: id is "a\/b"/);
    expect(made({ heartbeat: true })).toThrow(/it is not said where to/);
    expect(made({ gradients: { explode: 3 } })).toThrow(/no option "explode"/);
    expect(made({})).not.toThrow();
  });
});
