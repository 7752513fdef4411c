import { describe, expect, it } from "vitest";
import { compile, np, put, read, type Tensor, type Value, valueAndGrad } from "../engine/index.ts";
import { sweepEngines } from "../engine/run/engines.test-support.ts";
import * as nn from "../nn/index.ts";
import * as optim from "../optim/index.ts";
import { cycle, linear } from "../schedule/index.ts";
import { firstDifference } from "../state/index.ts";
import { drive, examples } from "./drive.test-support.ts";
import { accuracy } from "./metrics.ts";
import { supervisedTask } from "./task.ts";

describe.each(sweepEngines())("a supervised task on %s", (engine) => {
  const mlpTask = (more: object = {}) =>
    supervisedTask({
      model: nn.mlp({ hidden: [8], out: 2 }),
      optimizer: optim.adam({ learningRate: 0.01 }),
      data: examples([50, 3], [50, 2]),
      loss: nn.mse,
      batchSize: 8,
      engine,
      ...more,
    });

  it("has an epoch of full batches and a smaller last one", () => {
    const { epoch } = mlpTask();
    expect(epoch(drive.start).map(({ repeats, adds }) => [repeats, adds])).toEqual([
      [6, { batches: 1, updates: 1, samples: 8 }],
      [1, { batches: 1, updates: 1, samples: 2 }],
    ]);
    expect(mlpTask({ lastBatch: "drop" }).epoch(drive.start)).toHaveLength(1);
  });

  const cases: Record<string, () => object> = {
    mlp: () => ({}),
    dropout: () => ({ model: nn.sequential([nn.dense(8), nn.dropout(0.5), nn.dense(2)]) }),
    gru: () => ({
      model: nn.sequential({ memory: nn.gru(4), last: lastStep, out: nn.dense(2) }),
      data: examples([50, 5, 3], [50, 2]),
    }),
    convolution: () => ({
      model: nn.cnn({ channels: [4], out: 2 }),
      data: examples([50, 6, 6, 1], [50, 2]),
    }),
    accumulation: () => ({ accumulate: 2, batchSize: 4 }),
  };
  it.each(Object.keys(cases))("gives the same bits one by one and fused: %s", async (name) => {
    const options = {
      learningRate: linear({ from: 0.02, to: 0, over: { updates: 20 } }),
      ...cases[name]?.(),
    };
    const fused = await drive(mlpTask(options), { epochs: 3 });
    const single = await drive(mlpTask(options), { epochs: 3, atMost: 1 });
    const odd = await drive(mlpTask(options), { epochs: 3, atMost: 4 });
    expect(fused.calls).toBeLessThanOrEqual(single.calls);
    for (const other of [single, odd]) {
      expect(other.values.loss).toEqual(fused.values.loss);
      expect(await firstDifference(await other.states(), await fused.states())).toBeUndefined();
    }
    expect(fused.values.loss?.every(Number.isFinite)).toBe(true);
    expect(new Set(fused.values.loss).size).toBe(fused.values.loss?.length);
  });

  it("fuses, except convolutions on a CPU by xla", () => {
    expect(mlpTask().epoch(drive.start)[0]?.maxFuse).toBe(6);
    const convolution = mlpTask(cases.convolution?.()).epoch(drive.start)[0]?.maxFuse;
    expect(convolution).toBe(engine === "xla" ? 1 : 6);
  });

  it("steps as a loop written by hand does", async () => {
    const { x, y } = examples([20, 3], [20, 2]);
    const task = mlpTask({ data: { x, y }, batchSize: 20, shuffle: false, learningRate: 0.05 });
    const optimizer = optim.adam({ learningRate: 0.05 });
    const model = nn.mlp({ hidden: [8], out: 2 });
    const step = compile(
      (p: nn.Params, s: optim.OptimizerState, x: Value, y: Value) => {
        const [loss, grads] = valueAndGrad((p: nn.Params) => nn.mse(model.apply(p, x), y))(p);
        const next = optimizer.update(grads, s, p);
        return { p: optim.applyUpdates(p, next.updates), s: next.state, loss };
      },
      { engine },
    );
    const init = compile((p: nn.Params) => optimizer.init(p), { engine });
    let now = { p: task.params, s: init(task.params) };
    const [xs, ys] = [put(x.data, { ...x, engine }), put(y.data, { ...y, engine })];
    const losses: number[] = [];
    for (let i = 0; i < 5; i++) {
      const next = step(now.p, now.s, xs, ys);
      now = next;
      losses.push(await next.loss.item());
    }
    const { values } = await drive(task, { epochs: 5 });
    values.loss?.forEach((loss, i) => {
      expect(loss).toBeCloseTo(losses[i] as number, 5);
    });
    expect(losses[4]).toBeLessThan(losses[0] as number);
  });

  it("takes every example once an epoch, in a new order each time", async () => {
    const x = Float32Array.from({ length: 10 }, (_, i) => 2 ** i);
    const task = supervisedTask({
      model: nn.dense(1),
      optimizer: optim.sgd({ learningRate: 0 }),
      data: { x: { data: x, shape: [10, 1] }, y: x },
      loss: (out: Value) => np.mean(out).mul(0),
      metrics: { sum: (_out: Value, y: Value) => np.sum(y) },
      batchSize: 2,
      engine,
    });
    const { values } = await drive(task, { epochs: 2 });
    const sums = [...(values.sum ?? [])];
    const total = (part: readonly number[]) => part.reduce((a, b) => a + b, 0);
    expect([total(sums.slice(0, 5)), total(sums.slice(5))]).toEqual([1023, 1023]);
    expect(sums.slice(0, 5)).not.toEqual(sums.slice(5));
  });

  it("goes on in the middle of an epoch with the same next batch", async () => {
    const options = { model: nn.sequential([nn.dense(8), nn.dropout(0.3), nn.dense(2)]), shuffle: true };
    const whole = await drive(mlpTask(options), { epochs: 2 });
    const first = mlpTask(options);
    const half = await drive(first, { epochs: 2, stopAfter: 10 });
    const frozen = await first.snapshot();
    const again = mlpTask({ ...options, seed: 99 });
    for (const [name, state] of Object.entries(frozen.components))
      await again.components[name]?.setState(state);
    const rest = await drive(again, { epochs: 2, from: half.at });
    expect([...(half.values.loss ?? []), ...(rest.values.loss ?? [])]).toEqual([
      ...(whole.values.loss ?? []),
    ]);
    expect(await firstDifference(await rest.states(), await whole.states())).toBeUndefined();
  });

  it("freezes what it snapshots", async () => {
    const task = mlpTask();
    await drive(task, { epochs: 1 });
    const before = await task.snapshot(["params"]);
    const copy = await read(before.components.params as { w: Tensor });
    await drive(task, { epochs: 1 });
    expect(await read(before.components.params as { w: Tensor })).toEqual(copy);
    const now = (await task.snapshot(["params"])).components.params;
    expect(await firstDifference(before.components.params ?? null, now ?? null)).toBeDefined();
    expect(() => task.snapshot(["param"])).toThrow(/did you mean "params"/);
  });

  it.each([1, 2, 4])("accumulates %i batches into the update of the large one", async (accumulate) => {
    // 50 examples: three updates of 16, and one of 2.
    const large = await drive(mlpTask({ batchSize: 16 }), { epochs: 2 });
    const small = await drive(mlpTask({ batchSize: 16 / accumulate, accumulate }), { epochs: 2 });
    small.values.loss?.forEach((loss, i) => {
      expect(loss).toBeCloseTo(large.values.loss?.[i] as number, 5);
    });
    expect(small.at.updates).toBe(8);
    expect(small.at.samples).toBe(100);
    const numbers = async ({ states }: typeof large) => {
      const { params } = (await states()) as { readonly params: nn.Params<Tensor> };
      return Object.values(await read(params)).flatMap((layer) =>
        Object.values(layer).flatMap((a) => [...a]),
      );
    };
    const [a, b] = [await numbers(large), await numbers(small)];
    a.forEach((value, i) => {
      expect(Math.abs(value - (b[i] as number))).toBeLessThan(1e-6);
    });
  });

  it("counts updates that were skipped as not applied", async () => {
    const { x, y } = examples([6, 3], [6, 2]);
    (y.data as Float32Array)[0] = Number.NaN;
    const task = mlpTask({
      data: { x, y: put(y.data, { shape: y.shape, engine }) },
      batchSize: 2,
      shuffle: false,
      optimizer: optim.skipNonFinite(optim.chain(optim.clipByGlobalNorm(1), optim.adam())),
    });
    const { applied, values } = await drive(task, { epochs: 1 });
    expect(applied).toEqual([0, 1, 1]);
    expect(Object.keys(values).sort()).toEqual(["gradientNorm", "loss"]);
  });

  it("validates over all examples, the smaller last batch by its size", async () => {
    const data = { x: examples([7, 3], [7, 2]).x, y: Int32Array.of(0, 1, 0, 1, 1, 0, 1) };
    const make = (batchSize: number) =>
      mlpTask({ data, validation: data, loss: nn.crossEntropy, metrics: { accuracy }, batchSize });
    const context = { counters: drive.start, signal: new AbortController().signal };
    const whole = await make(7).validate?.(context);
    const parts = await make(3).validate?.(context);
    expect(Object.keys(whole ?? {}).sort()).toEqual(["accuracy", "loss"]);
    expect(parts?.loss).toBeCloseTo(whole?.loss as number, 5);
    expect(parts?.accuracy).toBeCloseTo(whole?.accuracy as number, 6);
    expect(mlpTask().validate).toBeUndefined();
  });

  it("drops nothing while validating and predicting", async () => {
    const options = { model: nn.sequential([nn.dense(8), nn.dropout(0.5), nn.dense(2)]) };
    const data = examples([9, 3], [9, 2]);
    const task = mlpTask({ ...options, data, validation: data, batchSize: 4 });
    const y = (await task.predict(data.x).read()) as Float32Array;
    const mean = y.reduce((sum, v, i) => sum + (v - (data.y.data[i] as number)) ** 2, 0) / y.length;
    const context = { counters: drive.start, signal: new AbortController().signal };
    expect((await task.validate?.(context))?.loss).toBeCloseTo(mean, 5);
    expect(await task.predict(data.x).read()).toEqual(y);
  });

  it("switches losses by their schedules", async () => {
    const task = mlpTask({
      loss: [
        { name: "fit", term: ({ outputs, batch }: Terms) => ({ loss: nn.mse(outputs, batch.y) }) },
        {
          name: "small",
          weight: linear({ from: 1, to: 0, over: { updates: 14 } }),
          active: { train: cycle({ batches: 3, active: [1] }) },
          term: ({ outputs }: Terms) => ({ loss: np.mean(np.square(outputs)) }),
        },
      ],
    });
    expect(task.epoch(drive.start).length).toBeGreaterThan(2);
    expect(Object.keys(task.ramps)).toEqual(["learningRate", "weight.small"]);
    const { values } = await drive(task, { epochs: 1 });
    expect(values["fit.loss"]?.length).toBe(7);
    expect(values["small.loss"]?.length).toBeLessThan(7);
  });

  it("takes trees of inputs", async () => {
    const { x, y } = examples([12, 3], [12, 2]);
    const model: nn.Model<{ readonly a: Value; readonly b: Value }> = {
      kind: "two",
      init: (key, { a }, where) => nn.dense(2).init(key, a, where),
      apply: (params, { a, b }) => nn.dense(2).apply(params, a.add(b)),
    };
    const task = supervisedTask({
      model,
      optimizer: optim.sgd(),
      data: { x: { a: x, b: x }, y },
      loss: nn.mse,
      batchSize: 4,
      engine,
    });
    const { values } = await drive(task, { epochs: 2 });
    expect(values.loss?.length).toBe(6);
    expect(task.predict({ a: x, b: x }).shape).toEqual([12, 2]);
  });
});

interface Terms {
  readonly outputs: Value;
  readonly batch: { readonly y: Value };
}

const lastStep = (x: Value): Value => np.take(x, (x.shape[1] as number) - 1, { axis: 1 });
