import { describe, expect, it } from "vitest";
import { type Dataset, type Example, fromArrays } from "../data/index.ts";
import { np, read, type Tensor, type Value } from "../engine/index.ts";
import { sweepEngines } from "../engine/run/engines.test-support.ts";
import * as nn from "../nn/index.ts";
import * as optim from "../optim/index.ts";
import { drive, examples } from "./drive.test-support.ts";
import { rmse } from "./metrics.ts";
import { countedLoss } from "./objective.ts";
import { binary, classification, type LossStrategy, languageModeling, regression } from "./strategies.ts";
import { supervisedTask } from "./task.ts";

/** 38 examples: an update of 32, and the last of 6. */
const rows = 38;
const x = examples([rows, 4], [1]).x;
const steps = {
  data: Float32Array.from({ length: rows * 5 * 4 }, (_, i) => Math.cos(i * 1.7)),
  shape: [rows, 5, 4],
};
/** From no token that counts up to all of them, unevenly. */
const tokens = {
  data: Int32Array.from({ length: rows * 5 }, (_, i) => {
    const [row, time] = [Math.floor(i / 5), i % 5];
    return time < (row < 8 ? 0 : row % 6) ? (row * 7 + time) % 3 : -100;
  }),
  shape: [rows, 5],
};
const weight = Float32Array.from({ length: rows }, (_, i) => (i < 6 ? 0 : (i * i) % 11));
const labels = Int32Array.from({ length: rows }, (_, i) => (i * 7 + (i >> 2)) % 3);
const numbers = examples([1], [rows, 2]).y;
const how = ({ loss, metrics }: LossStrategy) => ({ loss, metrics });
const known = (y: Value) => np.greater(y, 0.2);
const masked = (out: Value, y: Value) => nn.mse(out, y, { mask: known(y) });

interface FitInputs {
  readonly outputs: Value;
  readonly batch: { readonly y: Value; readonly weight?: Value };
}

const cases: Readonly<Record<string, () => object>> = {
  "masked tokens": () => ({ ...how(languageModeling()), model: nn.dense(3), data: { x: steps, y: tokens } }),
  "weights of tokens": () => ({
    ...how(languageModeling()),
    model: nn.dense(3),
    data: {
      x: steps,
      y: tokens,
      weight: { data: tokens.data.map((y, i) => (y === -100 ? 0 : i % 4)), shape: tokens.shape },
    },
  }),
  "weights of examples": () => ({
    ...how(regression()),
    model: nn.dense(2),
    data: { x, y: numbers, weight },
  }),
  "weights of classes": () => ({
    ...how(classification({ classWeights: [0.1, 5, 1], labelSmoothing: 0.1 })),
    model: nn.dense(3),
    data: { x, y: labels, weight },
  }),
  "yes or no, some unknown": () => ({
    ...how(binary({ ignore: 2 })),
    model: nn.dense(1),
    data: { x, y: labels },
  }),
  "a loss of one's own": () => ({
    loss: countedLoss(masked, (y) => np.sum(known(y))),
    model: nn.dense(2),
    data: { x, y: numbers },
  }),
  "several losses": () => ({
    loss: [
      countedLoss(masked, (y) => np.sum(known(y))),
      {
        name: "small",
        weight: 0.3,
        term: ({ outputs }: { readonly outputs: Value }) => ({ loss: np.mean(np.square(outputs)) }),
      },
    ],
    model: nn.dense(2),
    data: { x, y: numbers },
  }),
  "an object that counts, and a function without a name": () => ({
    loss: [
      {
        name: "fit",
        term: ({ outputs, batch }: FitInputs) => ({ loss: masked(outputs, batch.y) }),
        count: ({ y }: FitInputs["batch"]) => np.sum(known(y)),
      },
      countedLoss(
        (out: Value, y: Value) => masked(out, y),
        (y) => np.sum(known(y)),
      ),
    ],
    model: nn.dense(2),
    data: { x, y: numbers },
  }),
  "an object with weights": () => ({
    loss: {
      name: "fit",
      term: ({ outputs, batch }: FitInputs) => ({
        loss: nn.mse(outputs, batch.y, { mask: batch.weight as Value }),
      }),
    },
    model: nn.dense(2),
    data: { x, y: numbers, weight },
  }),
  plain: () => ({ loss: nn.mse, model: nn.dense(2), data: { x, y: numbers } }),
};

const both = ["masked tokens", "several losses", "plain"];

describe.each(sweepEngines())("accumulated gradients on %s", (engine) => {
  const taskOf = (name: string, more: object) =>
    supervisedTask({
      optimizer: optim.sgd({ learningRate: 1 }),
      batchSize: 32,
      shuffle: false,
      seed: 3,
      engine,
      ...(cases[name]?.() as Pick<Parameters<typeof supervisedTask>[0], "model" | "loss" | "data">),
      ...more,
    });
  const flat = async (params: nn.Params<Tensor>): Promise<readonly number[]> =>
    Object.values(await read(params as Readonly<Record<string, Tensor>>)).flatMap((array) => [...array]);
  const norm = (a: readonly number[], b: readonly number[]): number =>
    Math.hypot(...a.map((value, i) => value - (b[i] as number)));

  // Compiling takes long on xla.
  const names = Object.keys(cases).filter((name) => engine === "wasm" || both.includes(name));
  it.each(names)("of 8 micro-batches are those of the large batch: %s", async (name) => {
    // The second update is the partial window: 6 examples, in micro-batches of 4 and 2.
    const tasks = [taskOf(name, {}), taskOf(name, { batchSize: 4, accumulate: 8 })] as const;
    const start = await flat(tasks[0].params);
    const runs = await Promise.all(tasks.map((task) => drive(task, { epochs: 1 })));
    const [large, small] = [await flat(tasks[0].params), await flat(tasks[1].params)];
    const moved = norm(large, start);
    expect(moved).toBeGreaterThan(1e-3);
    expect(norm(large, small) / moved).toBeLessThan(1e-5);
    const [known, found] = runs.map(({ values }) => values.loss ?? []);
    expect(known).toHaveLength(2);
    expect(found).toEqual(known?.map((loss) => expect.closeTo(loss, 4)));
  });

  it.each(names)("are measured alike by validation in batches: %s", async (name) => {
    const { data: validation } = { data: {}, ...cases[name]?.() };
    const context = { counters: drive.start, signal: new AbortController().signal };
    const whole = await taskOf(name, { validation, batchSize: rows }).validate?.(context);
    const parts = await taskOf(name, { validation, batchSize: 5 }).validate?.(context);
    for (const [metric, value] of Object.entries(whole ?? {})) expect(parts?.[metric]).toBeCloseTo(value, 4);
  });
});

describe("weights", () => {
  const task = (data: object, loss: unknown = nn.mse) =>
    supervisedTask({
      model: nn.dense(2),
      optimizer: optim.sgd(),
      data: { x, y: numbers, ...data },
      loss: loss as typeof nn.mse,
      batchSize: 8,
      engine: "wasm",
    });

  it("that are none, or that a loss does not look at, are refused", () => {
    expect(() => task({ weight: weight.map((w, i) => (i === 7 ? -1 : w)) })).toThrow(
      /row 7 is -1.*WEIGHTS_INVALID/s,
    );
    expect(() => task({ weight: new Float32Array(rows) })).toThrow(/WEIGHTS_INVALID/);
    expect(() => task({ weight: weight.slice(1) })).toThrow(/DATA_LENGTH/);
    expect(() => task({ weight: weight.map((w, i) => (i === 3 ? Number.NaN : w)) })).toThrow(
      /DATA_NOT_FINITE/,
    );
    const careless = (out: Value, y: Value) => np.mean(np.abs(out.sub(y)));
    expect(() => task({ weight }, careless)).toThrow(/careless.*WEIGHTS_UNUSED/s);
  });
});

describe("weights of a stream", () => {
  it("train to the bits of weights in memory, and are named by their rows where they are none", async () => {
    const data = { x, y: numbers, weight };
    const make = (given: typeof data | Dataset<Example>) =>
      supervisedTask({
        model: nn.dense(2),
        optimizer: optim.sgd(),
        data: given as Dataset<Example>,
        validation: given as Dataset<Example>,
        loss: nn.mse,
        metrics: { rmse: rmse() },
        batchSize: 4,
        accumulate: 2,
        seed: 1,
        engine: "wasm",
      });
    const [memory, stream] = [await make(data), await make(fromArrays(data))];
    const runs = [await drive(memory, { epochs: 2 }), await drive(stream, { epochs: 2 })];
    expect(runs[1]?.values.loss).toEqual(runs[0]?.values.loss);
    expect(runs[1]?.values.rmse).toEqual(runs[0]?.values.rmse);
    const context = { counters: drive.start, signal: new AbortController().signal };
    expect((await stream.validate?.(context))?.loss).toBeCloseTo(
      (await memory.validate?.(context))?.loss as number,
      5,
    );
    const broken = fromArrays({ ...data, weight: weight.map((w, i) => (i === 7 ? -1 : w)) });
    const task = await make(broken);
    await expect(drive(task, { epochs: 1 })).rejects.toThrow(/row 7 is -1.*WEIGHTS_INVALID/s);
    await Promise.all([memory, stream, task].map((each) => each.end?.()));
  });
});
