import { describe, expect, it } from "vitest";
import { temporaryDirectory } from "../../checkpoint/hook/runs.test-support.ts";
import { checkpointHook, localStore } from "../../checkpoint/index.ts";
import { compile, type EngineName, np, read, type Value } from "../../engine/index.ts";
import { sweepEngines } from "../../engine/run/engines.test-support.ts";
import type { Params } from "../../nn/index.ts";
import * as optim from "../../optim/index.ts";
import { every, linear } from "../../schedule/index.ts";
import { firstDifference } from "../../state/index.ts";
import { describeInSample } from "../../sweep.test-support.ts";
import { Trainer } from "../../trainer/index.ts";
import { defineEnvironment } from "../environments/define.ts";
import { tdLoss } from "../losses/td.ts";
import { box, discrete } from "../spaces/index.ts";
import { vectorEnvironment } from "../vector/vector-environment.ts";
import { actionValues } from "./learn.ts";
import type { DqnOptions } from "./options.ts";
import { dqnTask } from "./task.ts";

const places = 5;
const gamma = 0.8;

/** A row of places: 1 for stepping out at the right end, nothing for the left; broken off after 12 steps. */
const makeRow = defineEnvironment({
  name: "Row",
  observation: discrete(places),
  action: discrete(2),
  timeLimit: 12,
  initial: (random) => ({ at: random.integer(places) }),
  step: ({ at }, action) => {
    const next = at + (action === 1 ? 1 : -1);
    const out = next === places;
    return { state: { at: Math.min(Math.max(next, 0), places - 1) }, reward: out ? 1 : 0, terminated: out };
  },
  observe: ({ at }) => at,
});

const made = (engine: EngineName, more: Partial<DqnOptions> = {}) =>
  dqnTask({
    env: vectorEnvironment({ make: makeRow, count: 2 }),
    policy: { encoder: { kind: "mlp", hidden: [32], activation: "relu" }, towers: "shared" },
    optimizer: optim.adam({ learningRate: 0.01 }),
    ...{
      rolloutSteps: 4,
      updates: 3,
      cycles: 20,
      batchSize: 32,
      capacity: 500,
      learningStarts: 80,
      gamma,
      engine,
    },
    epsilon: linear({ from: 1, to: 0.3, over: { samples: 1000 } }),
    target: { every: 10 },
    ...more,
  });

const trained = async (task: ReturnType<typeof made>, epochs: number, maxUpdates?: number) => {
  const config = { epochs, seed: 5, handleSignals: false, ...(maxUpdates !== undefined && { maxUpdates }) };
  const trainer = new Trainer({ task, config, warn: () => {} });
  return { trainer, result: await trainer.train() };
};

describe.each(sweepEngines())("DQN on %s", (engine) => {
  it.each([
    ["by itself", {}],
    ["double, with a target that follows slowly", { double: true, target: { every: 1, tau: 0.05 } }],
    ["by Huber's distance", { losses: [tdLoss({ huber: 1 })] }],
  ] as const)("learns what actions are worth, %s", async (_name, more) => {
    const task = made(engine, more);
    const { result } = await trained(task, 8);
    const values = compile(
      (params: Params) => {
        const all: Value = actionValues(task.policy, params, np.eye(places));
        return all;
      },
      { engine },
    );
    const found = await values(task.params as never).read();
    for (let at = 0; at < places; at++) {
      // So many steps from the end; a step to the left is one more, but for the first place.
      const right = gamma ** (places - 1 - at);
      const left = gamma * gamma ** (places - 1 - Math.max(at - 1, 0));
      expect(Math.abs((found[2 * at] as number) - left)).toBeLessThan(0.08);
      expect(Math.abs((found[2 * at + 1] as number) - right)).toBeLessThan(0.08);
    }
    expect(result.counters).toMatchObject({ epochs: 8, samples: 8 * 160 });
    expect(result.counters.episodes).toBeGreaterThan(100);
    expect(task.samplesPerEpoch).toBe(160);
  });

  it("is told by its epochs when learning starts, and reports episodes and losses", async () => {
    const task = made(engine, { cycles: 12 });
    const seen: Record<string, number>[] = [];
    const rollouts: Record<string, number>[] = [];
    const numbers = async (values: object): Promise<Record<string, number>> =>
      Object.fromEntries(
        Object.entries(await read(values)).map(([name, rows]) => [name, (rows as Float32Array)[0] as number]),
      );
    const original = task.run.bind(task);
    const watched = {
      ...task,
      run: async (request: Parameters<typeof original>[0]) => {
        const report = await original(request);
        const into = request.spans[0]?.segment.phase === "rollout" ? rollouts : seen;
        into.push(await numbers(report.metrics));
        return report;
      },
    };
    await trained(watched as never, 1);
    expect(rollouts.length).toBe(12);
    // 80 agent steps are 10 cycles of 4 steps of 2 rows.
    expect(seen.length).toBe(3);
    expect(Object.keys(seen[0] as object).sort()).toEqual(["loss", "td.error", "td.loss", "td.value"]);
    const last = rollouts.at(-1) as Record<string, number>;
    expect(Object.keys(last).sort()).toEqual(["episode.length", "episode.return", "episodes", "epsilon"]);
    expect(last.epsilon).toBeCloseTo(1 - 0.7 * (88 / 1000), 5);
    expect(last["episode.length"]).toBeGreaterThan(0);
  });

  it("keeps no transition from the end of one episode to the beginning of another", async () => {
    const task = made(engine, { cycles: 30, learningStarts: 1e6 });
    await trained(task, 1);
    const { fields, size } = task.buffer.getState() as never as {
      readonly fields: Readonly<Record<string, Float32Array>>;
      readonly size: number;
    };
    expect(size).toBeLessThan(240);
    const at = (row: Float32Array): number => row.indexOf(1);
    for (let i = 0; i < size; i++) {
      const part = (name: string): number =>
        at((fields[name] as Float32Array).subarray(i * places, (i + 1) * places));
      const [before, after] = [part("observation"), part("nextObservation")];
      const wanted = before + ((fields.action?.[i] as number) === 1 ? 1 : -1);
      expect(after).toBe(Math.min(Math.max(wanted, 0), places - 1));
      expect(fields.terminated?.[i]).toBe(wanted === places ? 1 : 0);
      expect(fields.reward?.[i]).toBe(wanted === places ? 1 : 0);
    }
  });

  it("goes on with the same bits from a checkpoint, from the middle of an epoch too", async () => {
    const whole = await trained(made(engine), 3);
    const store = localStore(temporaryDirectory());
    // 3 updates a cycle: in the middle of a cycle, then at an end.
    for (const maxUpdates of [31, 64, undefined]) {
      const task = made(engine);
      const config = { epochs: 3, seed: 5, handleSignals: false, ...(maxUpdates && { maxUpdates }) };
      let batches = 0;
      const hooks = [
        checkpointHook({ store, schedule: every({ updates: 1000 }) }),
        { name: "count", onBatchEnd: () => void batches++ },
      ];
      const trainer = new Trainer({ task, config, hooks, warn: () => {} });
      const { counters } = await trainer.train();
      if (maxUpdates) expect(counters.updates).toBe(maxUpdates);
      else {
        expect(batches).toBe(counters.updates - 64);
        for (const [name, part] of Object.entries(task.components)) {
          const other = await whole.trainer.components[name]?.getState();
          expect((await firstDifference(await part.getState(), other as never))?.text).toBeUndefined();
        }
      }
    }
  });

  it("fused updates give the bits of single ones", async () => {
    const [fused, single] = [made(engine), made(engine)];
    await trained(fused, 2);
    const config = { epochs: 2, seed: 5, handleSignals: false, fuse: false };
    await new Trainer({ task: single, config, warn: () => {} }).train();
    expect(await firstDifference(fused.params, single.params)).toBeUndefined();
  });
});

describeInSample("what cannot be meant", () => {
  it("actions that are no choices are refused, and policies that remember", () => {
    const makeSlide = defineEnvironment({
      name: "Slide",
      observation: box({ shape: [1], low: -1, high: 1 }),
      action: box({ shape: [1], low: -1, high: 1 }),
      timeLimit: 5,
      initial: () => ({ at: 0 }),
      step: ({ at }) => ({ state: { at }, reward: 0, terminated: false }),
      observe: ({ at }) => [at],
    });
    const environment = vectorEnvironment({ make: makeSlide, count: 1 });
    expect(() => dqnTask({ env: environment, optimizer: optim.adam() })).toThrow(/Slide has box actions/);
    expect(() => made("wasm", { policy: { memory: { kind: "gru", width: 4 } } })).toThrow(
      expect.objectContaining({ code: "POLICY_RECURRENT" }),
    );
    expect(() => made("wasm", { target: { tau: 2 } })).toThrow(/target: tau is 2/);
    expect(() => made("wasm", { batchsize: 2 } as never)).toThrow(/did you mean "batchSize"/);
  });
});
