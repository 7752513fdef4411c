import { describe, expect, it } from "vitest";
import { hashesOf } from "../checkpoint/hook/runs.test-support.ts";
import {
  columns,
  createLoader,
  Dataset,
  type Example,
  fromArrays,
  fromIterable,
  label,
  standardize,
} from "../data/index.ts";
import { np } from "../engine/index.ts";
import { sweepEngines } from "../engine/run/engines.test-support.ts";
import * as nn from "../nn/index.ts";
import * as optim from "../optim/index.ts";
import { cycle, every } from "../schedule/index.ts";
import { Trainer, type TrainerHook, type TrainingConfig } from "../trainer/index.ts";
import { examples } from "./drive.test-support.ts";
import { isStreamed } from "./feed.ts";
import type { StreamedOptions, SupervisedOptions } from "./options.ts";
import { supervisedTask } from "./task.ts";
import { supervisedTrainer } from "./trainer.ts";

const arrays = examples([54, 3], [54, 1]);
const held = examples([11, 3], [11, 1]);

/** The rows of a dataset one after the other, without a length. */
const asStream = (data: Dataset<Example>): Dataset<Example> => data.filter(() => true);

/** 7 updates an epoch, the last of them smaller; validation in the middle of batches. */
const optionsOf = (engine: "wasm" | "xla") =>
  ({
    engine,
    model: nn.sequential([nn.dense(8), nn.tanh, nn.dropout(0.3), nn.dense(1)]),
    optimizer: optim.adam({ learningRate: 0.01 }),
    data: arrays,
    validation: held,
    loss: nn.mse,
    metrics: { far: (outputs, y) => np.mean(np.abs(outputs.sub(y))) },
    batchSize: 4,
    accumulate: 2,
  }) satisfies SupervisedOptions;

async function trained(
  options: SupervisedOptions | StreamedOptions,
  config: Partial<TrainingConfig> = {},
  hooks: readonly TrainerHook[] = [],
) {
  const warnings: string[] = [];
  const task = await (isStreamed(options.data)
    ? supervisedTask(options as StreamedOptions)
    : supervisedTask(options as SupervisedOptions));
  const warn = (text: string) => void warnings.push(text);
  const trainer = new Trainer({
    task,
    config: { epochs: 3, seed: 5, handleSignals: false, ...config },
    hooks,
    warn,
  });
  const result = await trainer.train();
  return { trainer, task, result, warnings, hashes: await hashesOf(trainer) };
}

describe.each(sweepEngines())("streamed training on %s", (engine) => {
  it("has the bits of training from memory, however it is cut", async () => {
    const options = optionsOf(engine);
    const expected = await trained(options);
    expect(expected.result.counters.updates).toBe(21);
    const watching: TrainerHook = { name: "watching", schedule: every({ updates: 3 }), onBatchEnd: () => {} };
    const data = fromArrays(arrays);
    const validation = fromArrays(held);
    const runs = [
      await trained({ ...options, data, validation }),
      await trained({ ...options, data, maxFuse: 3 }, { fuse: false }),
      await trained({ ...options, data: createLoader(data, { batchSize: 4, prefetch: 0 }), maxFuse: 2 }),
    ];
    for (const { hashes, result } of runs) {
      expect(hashes).toEqual(expected.hashes);
      expect(result.validation).toEqual(expected.result.validation);
    }
    const watched = await trained({ ...options, data, maxFuse: 4 }, {}, [watching]);
    expect(watched.hashes.params).toBe(expected.hashes.params);
  });

  it("ends the epochs of a stream with its data, leaves out what fills no update, and says so", async () => {
    const options = { ...optionsOf(engine), shuffle: false };
    const expected = await trained({ ...options, lastBatch: "drop" });
    const streamed = {
      ...options,
      data: asStream(fromArrays(arrays)),
      validation: asStream(fromArrays(held)),
    };
    for (const maxFuse of [2, 4, 256]) {
      const { result, hashes, warnings } = await trained({ ...streamed, maxFuse });
      expect(result.counters).toMatchObject({ epochs: 3, updates: 18, samples: 144 });
      expect(hashes.params).toBe(expected.hashes.params);
      expect(result.validation).toEqual(expected.result.validation);
      expect(warnings).toEqual([expect.stringMatching(/last 6 examples.* 8 .*inMemory/)]);
    }
    // Too few for a single update: an error, unless such a run may end.
    const few = { ...streamed, data: asStream(fromArrays(arrays)).take(6) };
    await expect(trained(few)).rejects.toMatchObject({
      code: "EPOCH_EMPTY",
      message: expect.stringMatching(/6 examples, fewer than one update of 8/),
      fix: expect.stringMatching(/batchSize.*inMemory/),
    });
    const ended = await trained(few, { onEmpty: "finish" });
    expect([ended.result.outcome, ended.result.counters.updates]).toEqual(["completed", 0]);
  });

  it("goes on in the middle of an epoch of a stream", async () => {
    const data = asStream(fromArrays(arrays)).shuffle({ buffer: 20 });
    const options = { ...optionsOf(engine), data };
    const whole = await trained(options);
    const first = await trained(options, { maxUpdates: 10, validateAtEnd: false });
    const task = await supervisedTask(options);
    const second = new Trainer({
      task,
      config: { epochs: 3, seed: 5, handleSignals: false },
      warn: () => {},
    });
    for (const [name, component] of Object.entries(second.components))
      await component.setState((await first.trainer.components[name]?.getState()) ?? null);
    await second.train();
    expect((await hashesOf(second)).params).toBe(whole.hashes.params);
    expect((await hashesOf(second)).data).toBe(whole.hashes.data);
  });

  it("asks losses with schedules before each update of a stream", async () => {
    const loss = [
      { name: "fit", term: ({ outputs, batch }) => ({ loss: nn.mse(outputs, batch.y) }) },
      {
        name: "small",
        active: { train: cycle({ epochs: 2, active: [1] }) },
        term: ({ outputs }) => ({ loss: np.mean(np.square(outputs)) }),
      },
    ] satisfies StreamedOptions["loss"];
    const options = { ...optionsOf(engine), shuffle: false, lastBatch: "drop", loss } as const;
    const expected = await trained(options);
    const streamed = await trained({ ...options, data: asStream(fromArrays(arrays)) });
    expect(streamed.hashes.params).toBe(expected.hashes.params);
  });
});

describe("streamed data", () => {
  const options = { ...optionsOf("wasm"), loss: nn.crossEntropy, metrics: {} };
  const classes = (labels: readonly number[]) =>
    new Dataset<Example>({
      name: "letters.csv",
      length: labels.length,
      get: (i) => ({ x: [i, 1, 2], y: { data: Int32Array.of(labels[i] ?? 0), shape: [] } }),
    });

  it("names the row of a label that is no class, and the loader of another batch size", async () => {
    const model = nn.dense(3);
    const data = classes([0, 1, 2, 0, 7, 1, 0, 1]);
    const { validation: _, ...training } = { ...options, model, data, accumulate: 1 };
    await expect(trained(training)).rejects.toMatchObject({
      code: "LABELS_INVALID",
      message: expect.stringMatching(/is 7, in row 4/),
    });
    const loader = createLoader(data, { batchSize: 8 });
    expect(() => supervisedTask({ ...options, model, data: loader })).toThrow(/8.*4/);
    await expect(trained({ ...options, model, data: classes([]) })).rejects.toMatchObject({
      code: "DATA_EMPTY",
    });
  });

  it("is not shared out twice: ranks refuse a loader that takes the rows of one of them", async () => {
    const data = fromArrays(arrays);
    const { begin } = await supervisedTask({
      ...optionsOf("wasm"),
      data: createLoader(data, { batchSize: 4, rank: { index: 1, count: 2 } }),
    });
    const run = { config: {}, random: {}, warn: () => {}, ranks: { rank: 1, ranks: 2 } };
    expect(() => begin?.(run as never)).toThrow(
      /one rank of 2.*OPTION_INVALID.*leave the loader's rank out/s,
    );
  });

  it("is taken by supervisedTrainer: the targets decide the loss, a transform learns from the training rows", async () => {
    const rows = Array.from({ length: 30 }, (_, i) => ({ size: i, kind: ["cat", "dog", "eel"][i % 3] }));
    const transform = columns({ x: [standardize("size")], y: label("kind") });
    const trainer = supervisedTrainer({
      engine: "wasm",
      model: nn.mlp({ hidden: [4], out: 3 }),
      trainingConfig: { epochs: 2, batchSize: 8, handleSignals: false },
      transform,
    });
    const { train, validation } = fromIterable(rows).split({ train: 0.8, validation: 0.2 });
    const { counters, validation: found } = await trainer.train({ trainData: train, valData: validation });
    expect(counters.updates).toBe(6);
    expect(found).toHaveProperty("accuracy");
    const learned = transform.getState();
    // The first example is looked at by the task alone where the loss does not follow from it.
    let opened = 0;
    const counted = asStream(fromArrays(arrays)).filter(() => true);
    const stream = new Dataset({
      name: "stream",
      open: (pass, from) => {
        opened++;
        return counted.open(pass, from);
      },
    });
    const known = { engine: "wasm", model: nn.dense(1), loss: nn.mse } as const;
    const trainingConfig = { epochs: 2, batchSize: 8, handleSignals: false };
    await supervisedTrainer({ ...known, trainingConfig, warn: () => {} }).train({ trainData: stream });
    expect(opened).toBe(4); // The task, two epochs, and the next one ahead of time.
    expect(await trainer.state()).toMatchObject({ transform: learned });
    expect(await trainer.test({ data: validation })).toEqual(found);
    await trainer.train({ trainData: validation });
    expect(transform.getState()).toEqual(learned);
    await expect(trainer.train({ trainData: arrays })).rejects.toMatchObject({ code: "OPTION_INVALID" });
  });
});
