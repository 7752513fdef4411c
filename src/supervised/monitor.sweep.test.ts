import { describe, expect, it } from "vitest";
import { put, read, spec, type Tensor } from "../engine/index.ts";
import { sweepEngines } from "../engine/run/engines.test-support.ts";
import { Learner, type MonitorOptions } from "../learner/index.ts";
import * as nn from "../nn/index.ts";
import * as optim from "../optim/index.ts";
import { linear } from "../schedule/index.ts";
import { firstDifference } from "../state/index.ts";
import { describeInSample } from "../sweep.test-support.ts";
import { drive, examples } from "./drive.test-support.ts";
import { placeExamples } from "./examples.ts";
import { type AnyBatch, type ObjectiveParts, supervisedObjective } from "./objective.ts";
import type { SupervisedOptions } from "./options.ts";
import { supervisedTask } from "./task.ts";
import { trainProgram } from "./update.ts";

type Options = Partial<SupervisedOptions>;

const everything: MonitorOptions = { gradients: "layers", parameters: true, updates: true };

describe.each(sweepEngines())("statistics of updates on %s", (engine) => {
  const optionsOf = (more: Options = {}): SupervisedOptions => ({
    model: nn.mlp({ hidden: [8], out: 2 }),
    optimizer: optim.sgd({ learningRate: 0.1 }),
    data: examples([24, 3], [24, 2]),
    loss: nn.mse,
    batchSize: 8,
    engine,
    ...more,
  });
  const driven = async (more: Options, epochs = 1) => {
    const task = supervisedTask(optionsOf(more));
    return { task, ...(await drive(task, { epochs })) };
  };

  /** The training program as the engine reads it. */
  const programText = (more: Options): string => {
    const { model, optimizer, monitor, data } = optionsOf(more);
    const placed = placeExamples("data", data, { engine }, false);
    // nn.mse and the model are of plain values, as the examples here are.
    const objective = supervisedObjective({ model, loss: nn.mse, metrics: {} } as unknown as ObjectiveParts);
    const init = (key: Uint32Array) => model.init(key, spec([8, 3]), { engine });
    const learner = new Learner({ task: "test", optimizer, monitor, init, ramps: objective.ramps });
    const { program, numbers } = trainProgram({
      learner,
      objective,
      names: objective.names,
      batches: { size: 8, count: 3, from: 0 },
      batchSize: 8,
      batchOf: (rows) => rows as AnyBatch,
      capacity: 3,
      loops: true,
    });
    const ramps = Object.fromEntries(learner.rates.names.map((name) => [name, new Float32Array(3)]));
    return program.lower({
      data: placed.data,
      order: new Int32Array(24),
      at: new Int32Array(3),
      ramps: numbers.tensor(ramps, 3),
      key: new Uint32Array(2),
    });
  };

  it("are not in the program where they are off", () => {
    const plain = programText({});
    const off = { gradients: false, parameters: false, updates: false };
    expect(programText({ monitor: {} })).toBe(plain);
    expect(programText({ monitor: off })).toBe(plain);
    for (const [name, on] of Object.entries(everything))
      expect(programText({ monitor: { [name]: on } }).length, name).toBeGreaterThan(plain.length);
  });

  it("report nothing unless asked, but for the norm that the optimizer clips by", async () => {
    const clipping = optim.chain(optim.clipByGlobalNorm(1), optim.sgd());
    const names = async (more: Options) => Object.keys((await driven(more)).values).sort();
    expect(await names({})).toEqual(["loss"]);
    expect(await names({ optimizer: clipping })).toEqual(["gradientNorm", "loss"]);
    expect(await names({ optimizer: clipping, monitor: { gradients: false } })).toEqual(["loss"]);
    expect(await names({ monitor: everything })).toEqual([
      ...["gradientNorm", "gradientNorm/hidden0", "gradientNorm/out"],
      ...["loss", "parameterNorm", "updateNorm"],
    ]);
  });

  const models: Record<string, () => Options> = {
    "dense layers": () => ({}),
    dropout: () => ({ model: nn.sequential([nn.dense(8), nn.dropout(0.5), nn.dense(2)]) }),
    convolution: () => ({ model: nn.cnn({ channels: [4], out: 2 }), data: examples([24, 6, 6, 1], [24, 2]) }),
    recurrence: () => ({
      model: nn.sequential({ memory: nn.gru(4), flat: nn.flatten(), out: nn.dense(2) }),
      data: examples([24, 5, 3], [24, 2]),
    }),
    accumulation: () => ({ accumulate: 2, batchSize: 4 }),
    "clipping and skipping": () => ({
      optimizer: optim.skipNonFinite(optim.chain(optim.clipByGlobalNorm(0.1), optim.adamw())),
    }),
  };
  it.each(Object.keys(models))("change no bit of the training: %s", async (name) => {
    const options: Options = { optimizer: optim.adam({ learningRate: 0.01 }), ...models[name]?.() };
    const off = await driven(options, 3);
    const on = await driven({ ...options, monitor: everything }, 3);
    expect(on.values.loss).toEqual(off.values.loss);
    expect(await firstDifference(await on.states(), await off.states())).toBeUndefined();
    expect(on.values.parameterNorm?.length).toBe(on.values.loss?.length);
  });

  it("are the same one by one and fused, a row an update", async () => {
    const make = () => supervisedTask(optionsOf({ monitor: everything }));
    const fused = await drive(make(), { epochs: 2 });
    const single = await drive(make(), { epochs: 2, atMost: 1 });
    expect(fused.calls).toBeLessThan(single.calls);
    expect(single.values).toEqual(fused.values);
    expect(new Set(fused.values.gradientNorm).size).toBe(6);
  });

  it("fit together: layers make up the whole, updates are what parameters moved by", async () => {
    const { task, values } = await driven({ monitor: everything, batchSize: 24 });
    const [first, second] = ["gradientNorm/hidden0", "gradientNorm/out"].map((name) => values[name]?.[0]);
    const whole = values.gradientNorm?.[0] as number;
    expect(Math.hypot(first as number, second as number)).toBeCloseTo(whole, 5);
    // Plain gradient descent adds the gradient times the learning rate.
    expect(values.updateNorm?.[0]).toBeCloseTo(0.1 * whole, 6);
    const params = Object.values(await read(task.params as nn.Params<Tensor>)).flatMap((layer) =>
      Object.values(layer).flatMap((array) => [...array]),
    );
    expect(values.parameterNorm?.[0]).toBeCloseTo(Math.hypot(...params), 5);
  });

  it("have the norm after clipping by norm, by a rate that changes", async () => {
    const optimizer = optim.chain(optim.clipByGlobalNorm(1), optim.sgd());
    const rates = { maxNorm: linear({ from: 0.03, to: 0.01, over: { updates: 2 } }) };
    const { values } = await driven({ optimizer, rates, monitor: { gradients: true }, shuffle: false });
    expect(values.gradientNorm?.every((norm) => norm > 0.03)).toBe(true);
    [0.03, 0.02, 0.01].forEach((limit, i) => {
      expect(values.clippedNorm?.[i]).toBeCloseTo(limit, 6);
    });
    const wide = optim.chain(optim.clipByGlobalNorm(1000), optim.sgd());
    const unclipped = await driven({ optimizer: wide, monitor: { gradients: true } });
    expect(unclipped.values.clippedNorm).toEqual(unclipped.values.gradientNorm);
  });

  it("have the norm after clipping element by element", async () => {
    const optimizer = optim.chain(optim.clip(1e-4), optim.sgd({ learningRate: 1 }));
    const { values } = await driven({ optimizer, monitor: { gradients: true, updates: true } });
    expect(values.gradientNorm?.[0]).toBeGreaterThan(values.clippedNorm?.[0] as number);
    values.updateNorm?.forEach((norm, i) => {
      expect(values.clippedNorm?.[i]).toBeCloseTo(norm, 8);
    });
  });

  it("count no parameter that is frozen", async () => {
    const optimizer = optim.freeze("hidden0", optim.sgd());
    const { values } = await driven({ optimizer, monitor: { gradients: "layers" } });
    expect(Object.keys(values).sort()).toEqual(["gradientNorm", "gradientNorm/out", "loss"]);
    expect(values["gradientNorm/out"]).toEqual(values.gradientNorm);
  });

  it("say of an update that was left out that its gradients were no numbers", async () => {
    const { x, y } = examples([6, 3], [6, 2]);
    (y.data as Float32Array)[4] = Number.NaN;
    const optimizer = optim.skipNonFinite(optim.chain(optim.clipByGlobalNorm(1), optim.adam()));
    const options: Options = {
      data: { x, y: put(y.data, { shape: y.shape, engine }) },
      batchSize: 2,
      shuffle: false,
      optimizer,
    };
    const known = await driven(options);
    const asked = await driven({ ...options, monitor: { gradients: true, updates: true } });
    expect(asked.applied).toEqual([1, 0, 1]);
    for (const { values } of [known, asked])
      expect(values.gradientNorm?.map(Number.isFinite)).toEqual([true, false, true]);
    expect(asked.values.clippedNorm?.map(Number.isFinite)).toEqual([true, false, true]);
    expect(asked.values.updateNorm?.[1]).toBe(0);
  });
});

describeInSample("the option monitor", () => {
  const make = (monitor: unknown) => () =>
    supervisedTask({
      model: nn.dense(1),
      optimizer: optim.sgd(),
      data: examples([4, 3], [4, 1]),
      loss: nn.mse,
      batchSize: 4,
      engine: "wasm",
      monitor: monitor as MonitorOptions,
    });

  it("refuses what cannot be meant", () => {
    expect(make(true)).toThrow(/monitor is true.*OPTION_INVALID/s);
    expect(make({ gradient: true })).toThrow(/no option "gradient"; did you mean "gradients"/);
    expect(make({ gradients: "layer" })).toThrow(/gradients is "layer"/);
    expect(make({ updates: "layers" })).toThrow(/updates is "layers"/);
  });
});
