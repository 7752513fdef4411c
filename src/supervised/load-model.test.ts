import { readdirSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, it } from "vitest";
import { temporaryDirectory } from "../checkpoint/hook/runs.test-support.ts";
import {
  bestCheckpoint,
  Checkpoint,
  CheckpointManager,
  checkpointHook,
  localStore,
} from "../checkpoint/index.ts";
import {
  byteTokenizer,
  characterTokenizer,
  columns,
  fromIterable,
  label,
  standardize,
} from "../data/index.ts";
import { np, put, spec, type Value } from "../engine/index.ts";
import * as nn from "../nn/index.ts";
import { adam } from "../optim/index.ts";
import { every, noCounters } from "../schedule/index.ts";
import { emaHook, Trainer, type TrainerHook } from "../trainer/index.ts";
import { loadModel } from "./load-model.ts";
import type { SupervisedOptions } from "./options.ts";
import { supervisedTask } from "./task.ts";

const on = { engine: "wasm" } as const;
const x = Float32Array.from({ length: 128 }, (_, i) => Math.sin(i * 7.1));
const data = {
  x: { data: x, shape: [64, 2] },
  y: Int32Array.from({ length: 64 }, (_, i) => ((x[2 * i] as number) > 0 ? 1 : 0)),
};

/** A run with a checkpoint after each of two epochs. */
async function trained(more: Partial<SupervisedOptions> = {}, hooks: readonly TrainerHook[] = []) {
  const directory = temporaryDirectory();
  const task = supervisedTask({
    model: nn.mlp({ hidden: [8], out: 2, activation: nn.tanh }),
    data,
    loss: nn.crossEntropy,
    optimizer: adam({ learningRate: 0.05 }),
    batchSize: 16,
    ...on,
    ...more,
  });
  const saving = checkpointHook({ directory, schedule: every({ epochs: 1 }) });
  await new Trainer({
    task,
    config: { epochs: 2, handleSignals: false },
    hooks: hooks.length > 0 ? hooks : [saving],
  }).train();
  return { task, directory };
}

const fails = (work: Promise<unknown>, code: string, text: RegExp) =>
  expect(work).rejects.toThrow(
    expect.objectContaining({ code, message: expect.stringMatching(text) }) as Error,
  );

describe("a loaded model", () => {
  it("has the tokenizer of its training, and a run goes on with no other", async () => {
    const tokenizer = characterTokenizer("01");
    const { task, directory } = await trained({ tokenizer });
    const loaded = await loadModel(directory, on);
    expect(loaded.tokenizer?.recipe).toEqual(tokenizer.recipe);
    const kept = task.components.tokenizer;
    await kept?.setState(tokenizer.recipe);
    await fails(Promise.resolve(kept?.setState(byteTokenizer().recipe)), "STATE_MISMATCH", /tokenizer/);
  });

  it("is built from the checkpoint alone, and gives what the task gives", async () => {
    const { task, directory } = await trained();
    const expected = await task.predict(data.x).read();
    const loaded = await loadModel<Float32Array>(directory, on);
    expect(loaded.model.recipe).toEqual(nn.mlp({ hidden: [8], out: 2, activation: nn.tanh }).recipe);
    expect(await loaded.outputs(data.x)).toEqual({ data: expected, shape: [64, 2] });
    const byUrl = await loadModel(pathToFileURL(loaded.checkpoint.path), on);
    expect(await byUrl.outputs(put(x, { shape: [64, 2], ...on }))).toEqual(await loaded.outputs(data.x));
    const opened = await Checkpoint.open(localStore(directory), loaded.checkpoint.name);
    expect((await loadModel(opened, on)).checkpoint).toBe(opened);
  });

  it("predicts for one, for few and for more than a call takes", async () => {
    const { task, directory } = await trained();
    const all = await task.predict(data.x).read();
    const loaded = await loadModel<Float32Array>(directory, { ...on, batchSize: 16 });
    const inputs = Array.from({ length: 64 }, (_, i) => [x[2 * i] as number, x[2 * i + 1] as number]);
    const close = (row: Float32Array, i: number) =>
      row.forEach((value, k) => {
        expect(Math.abs(value - (all[2 * i + k] as number))).toBeLessThan(1e-6);
      });
    close(await loaded.predictOne(inputs[5] as number[]), 5);
    for (const count of [1, 3, 16, 17, 61])
      (await loaded.predict(inputs.slice(0, count))).forEach((row, i) => {
        close(row, i);
      });
    expect(await loaded.predict([])).toEqual([]);
    expect((await loaded.outputs(inputs.slice(0, 5))) as object).toMatchObject({ shape: [5, 2] });
    const list = { data: inputs.slice(0, 5).flat(), shape: [5, 2] };
    expect(await loaded.outputs(list)).toEqual(await loaded.outputs(inputs.slice(0, 5)));
    const model = nn.mlp({ hidden: [8], out: 2, activation: nn.tanh });
    const most: number[] = [];
    const apply: typeof model.apply = (params, rows, options) => {
      most.push(rows.shape[0] as number);
      return model.apply(params, rows, options);
    };
    const five = await loadModel<Float32Array>(directory, {
      ...on,
      batchSize: 5,
      model: { ...model, apply },
    });
    expect(await five.predict(inputs.slice(0, 13))).toHaveLength(13);
    expect([...new Set(most)].sort()).toEqual([4, 5]);
  });

  it("refuses what is not one input each, and rows by name where no transform was fitted", async () => {
    const { directory } = await trained();
    const loaded = await loadModel(directory, on);
    await fails(loaded.predict([1, 2]), "DATA_INVALID", /\[\], .*\[2\]/);
    await fails(loaded.outputs(Float32Array.of(1, 2)), "DATA_INVALID", /\[\], .*\[2\]/);
    await fails(loaded.predictOne({ age: 1 }), "DATA_INVALID", /age\[\], .*\[2\]/);
  });

  it("takes the best or the newest, and the moving average", async () => {
    const directory = temporaryDirectory();
    const hook = bestCheckpoint({ directory, metric: "validation/worse", direction: "min" });
    await trained({ validation: data, metrics: { worse: (y) => np.mean(y) } }, [
      hook,
      emaHook({ decay: 0.5 }),
    ]);
    const manager = new CheckpointManager({ store: localStore(directory) });
    const best = await loadModel(directory, { ...on, which: "best" });
    expect(best.checkpoint.name).toBe((await manager.best())?.name);
    const last = await loadModel(directory, on);
    expect(last.checkpoint.name).toBe((await manager.latest())?.name);
    const average = await loadModel(directory, { ...on, params: "ema" });
    expect(await average.outputs(data.x)).not.toEqual(await last.outputs(data.x));
    // A checkpoint is itself, whichever is asked for.
    expect((await loadModel(last.checkpoint.path, { which: "best", ...on })).checkpoint.name).toBe(
      last.checkpoint.name,
    );
  });

  it("takes rows through the transform that was fitted, and gives labels", async () => {
    const rows = Array.from({ length: 40 }, (_, i) => ({ size: 100 + i, kind: i < 20 ? "small" : "large" }));
    const transform = columns({ x: [standardize("size")], y: label("kind") });
    await transform.fit(fromIterable(rows));
    const directory = temporaryDirectory();
    const manager = new CheckpointManager({ store: localStore(directory) });
    const model = nn.dense(2);
    // By hand: the further above the mean, the rather "large", the first label.
    const params = { w: put([[1, -1]], on), b: put([0, 0], on) };
    const state = (value: unknown) => ({ getState: () => value as never, setState: () => undefined });
    const about = { model: model.recipe as nn.Recipe, input: { shape: [1], dtype: "f32" } };
    await manager.save({ params: state(params), transform }, { step: 1, about });
    await manager.close();
    const loaded = await loadModel<string>(directory, on);
    expect(await loaded.predictOne({ size: 139 })).toBe("large");
    expect(await loaded.predict([{ size: 101 }, { size: 138 }, { size: 102 }])).toEqual([
      "small",
      "large",
      "small",
    ]);
    expect(await loaded.predict([[2], [-2]])).toEqual(["large", "small"]);
    await fails(loaded.predictOne({ sise: 3 }), "DATA_COLUMN_UNKNOWN", /input 0.*"size"/);
  });

  it("reads lists of whole numbers as the tokens that the model was trained on", async () => {
    const tokens = Int32Array.from({ length: 32 }, (_, i) => i % 5);
    const model = nn.sequential([nn.embedding(5, 4), nn.flatten(), nn.dense(2)]);
    const { directory, task } = await trained({
      model,
      data: { x: { data: tokens, shape: [8, 4] }, y: Int32Array.from({ length: 8 }, (_, i) => i % 2) },
    });
    const loaded = await loadModel<Float32Array>(directory, on);
    const expected = await task.predict({ data: Int32Array.of(1, 2, 3, 4), shape: [1, 4] }).read();
    expect(await loaded.predictOne([1, 2, 3, 4])).toEqual(expected);
    await fails(loaded.predictOne([1, 2.5, 3, 4]), "DATA_INVALID", /input 0.*2\.5/);
  });

  it("says where a policy is used", async () => {
    const directory = temporaryDirectory();
    const manager = new CheckpointManager({ store: localStore(directory) });
    const params = { getState: () => ({ w: 1 }), setState: () => undefined };
    await manager.save({ params }, { counters: noCounters, config: { task: { policy: {} } } });
    await manager.close();
    await fails(loadModel(directory, on), "MODEL_UNKNOWN", /holds a policy.*loadActor/s);
  });

  it("asks for a model that holds functions of the caller's own, and takes no other", async () => {
    const own = nn.sequential({ first: nn.dense(4), own: (v: Value) => np.sin(v), last: nn.dense(2) });
    const { directory, task } = await trained({ model: own });
    await fails(loadModel(directory, on), "MODEL_UNKNOWN", /does not say how its model is built/);
    const loaded = await loadModel(directory, { model: own, ...on });
    expect(await loaded.outputs(data.x)).toMatchObject({ data: await task.predict(data.x).read() });
    const wider = nn.sequential({ first: nn.dense(4), own: (v: Value) => np.sin(v), last: nn.dense(3) });
    await fails(
      loadModel(directory, { model: wider, ...on }),
      "CHECKPOINT_MISMATCH",
      /last\.b is f32\[2\] in the checkpoint and f32\[3\] in the model/,
    );
    await fails(loadModel(directory, { model: own, params: "ema", ...on }), "COMPONENT_UNKNOWN", /"ema"/);
    await fails(loadModel(join(directory, "nowhere"), on), "CHECKPOINT_MISSING", /nowhere/);
    await fails(loadModel(directory, { wich: "best" } as never), "OPTION_UNKNOWN", /"which"/);
    await fails(loaded.outputs([[1, 2], [3]]), "DATA_RAGGED", /row 1/);
    await fails(loaded.outputs({ data: x, shape: [3, 2] }), "DATA_INVALID", /128 numbers/);
    await fails(loaded.outputs([[1, 2, 3]]), "SHAPE_MISMATCH", /3 features/);
    await fails(loaded.outputs(undefined as never), "DATA_INVALID", /it was given undefined/);
  });

  it("is an older one where the newest is damaged, and a warning says so", async () => {
    const { directory } = await trained();
    const [, newest = ""] = readdirSync(directory)
      .filter((name) => name.startsWith("epoch"))
      .sort();
    truncateSync(join(directory, newest, "params.safetensors"), 100);
    const warned = new Promise<Error>((resolve) => process.once("warning", resolve));
    expect((await loadModel(directory, on)).checkpoint.path).toContain("epoch-0001");
    expect((await warned).message).toContain(newest);
  });

  it("compares a checkpoint that says nothing of its inputs with the first that come", async () => {
    const directory = temporaryDirectory();
    const manager = new CheckpointManager({ store: localStore(directory) });
    const params = nn.dense(2).init(0, spec([1, 3]), on);
    await manager.save({ params: { getState: () => params, setState: () => undefined } }, { step: 1 });
    await manager.close();
    const loaded = await loadModel(directory, { model: nn.dense(2), ...on });
    expect(await loaded.predict([[1, 2, 3]])).toHaveLength(1);
    const other = await loadModel(directory, { model: nn.dense(4), ...on });
    await fails(other.predict([[1, 2, 3]]), "CHECKPOINT_MISMATCH", /b is f32\[2\].*f32\[4\]/);
  });
});
