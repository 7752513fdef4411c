import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  rmSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { put, Tensor } from "../engine/index.ts";
import { testEngines } from "../engine/run/engines.test-support.ts";
import { noCounters } from "../schedule/index.ts";
import { firstDifference, type StateTree } from "../state/index.ts";
import { Holder, somebody } from "./fakes.test-support.ts";
import { beforeCommit } from "./hook/runs.test-support.ts";
import { localStore, memoryStore } from "./index.ts";
import { CheckpointManager } from "./manager.ts";
import { snapshot, snapshotOf } from "./snapshot.ts";

const folder = mkdtempSync(join(tmpdir(), "espalier-manager-"));
afterAll(() => rmSync(folder, { recursive: true }));
let folders = 0;
const newFolder = (): string => join(folder, `run ${folders++}`, "deep");

const inMemory = (options = {}) =>
  new CheckpointManager({ store: memoryStore(), computedBy: async () => somebody, ...options });

describe.each(testEngines())("a run on %s, saved to disk by another thread", (engine) => {
  const many = () => Array.from({ length: 20 }, (_, i) => put(new Float32Array(1000).fill(i), { engine }));
  const large = () =>
    put(
      Float32Array.from({ length: 1_500_000 }, (_, i) => i),
      { shape: [1500, 1000], engine },
    );
  const states = (): Record<string, StateTree> => ({
    params: { layers: many(), large: large() },
    optimizer: { m: [large()], step: 12, flags: put([true, false], { engine }) },
    "hook.early stop/best": { best: Number.POSITIVE_INFINITY, history: new Float64Array(40_000).fill(2) },
    "hook.counts": [1, Float64Array.of(3)],
    data: { key: Uint32Array.of(1, 2), position: 0 },
  });
  const holders = (from: Record<string, StateTree>) =>
    Object.fromEntries(Object.entries(from).map(([name, state]) => [name, new Holder(state)]));

  it("comes back exactly, on the device it was on", async () => {
    const directory = newFolder();
    const manager = new CheckpointManager({ store: localStore(directory), run: "test" });
    const saved = await manager.save(holders(states()), {
      counters: { epochs: 12, updates: 480 },
      metrics: { loss: 0.5, worst: Number.NaN },
      scores: { accuracy: 0.9 },
      metadata: { note: "mine", list: [1, null] },
    });
    expect(saved.name).toBe("epoch-0012-update-000480");
    expect(readdirSync(saved.path).sort()).toEqual([
      "hook.early%20stop%2fbest.safetensors",
      "manifest.json",
      "optimizer.safetensors",
      "params.safetensors",
      "values.bin",
    ]);
    await manager.close();
    expect(readdirSync(directory)).toEqual([saved.name]);

    const next = new CheckpointManager({ store: localStore(directory) });
    const fresh = holders({
      ...states(),
      optimizer: { m: [large()], step: 0, flags: put([false, false], { engine }) },
      data: { key: Uint32Array.of(0, 0), position: 3 },
    });
    const latest = await next.latest();
    if (!latest) throw new Error("no checkpoint");
    const manifest = await next.restore(fresh, latest);
    for (const [name, state] of Object.entries(states()))
      expect(await firstDifference(state, fresh[name]?.state ?? null), name).toBeUndefined();
    const restored = fresh.params?.state as { readonly large: Tensor };
    expect(restored.large).toBeInstanceOf(Tensor);
    expect(restored.large.device.engine).toBe(engine);
    expect(manifest.metrics).toEqual({ loss: 0.5, worst: Number.NaN });
    expect(manifest.scores).toEqual({ accuracy: 0.9 });
    expect(manifest.metadata).toEqual({ note: "mine", list: [1, null] });
    expect(manifest.counters).toMatchObject({ epochs: 12, updates: 480, samples: 0 });
    expect(manifest.computedBy.engine).toBe(engine);
    expect(manifest.computedBy.plugin.sha256 !== null).toBe(engine === "xla");
  });

  it("waits for no turn of the event loop before a small one is committed", async () => {
    let turned = false;
    const seen: boolean[] = [];
    const store = beforeCommit(localStore(newFolder()), () => void seen.push(turned));
    const manager = new CheckpointManager({ store, computedBy: async () => somebody });
    const parts = holders({
      params: { layers: many(), wide: put(new Float32Array(40_000), { engine }) },
      data: [1],
    });
    await manager.save(parts, { step: 1 });
    // Training may keep the event loop to itself for as long as an epoch takes.
    setImmediate(() => {
      turned = true;
    });
    await manager.save(parts, { step: 2 });
    expect(seen).toEqual([false, false]);
    await manager.close();
  });

  it("verifies on the way, or does not when told so", async () => {
    const manager = new CheckpointManager({ store: localStore(newFolder()) });
    const { path } = await manager.save(holders(states()), { counters: {} });
    const checkpoint = await manager.load(path);
    const file = openSync(join(path, "params.safetensors"), "r+");
    writeSync(file, Uint8Array.of(7), 0, 1, 6_000_000);
    closeSync(file);
    await expect(checkpoint.state("params")).rejects.toThrow(/altered.*CHECKPOINT_DAMAGED/s);
    expect(await manager.verify(checkpoint.name)).toHaveLength(1);
    await expect((await manager.load(path)).trust().state("params")).resolves.toBeDefined();
    await expect(checkpoint.state("optimizer")).resolves.toBeDefined();
    await manager.close();
  });
});

describe("metadata", () => {
  const setUp = () => new CheckpointManager({ store: memoryStore(), computedBy: async () => somebody });
  const parts = { algorithm: new Holder({ w: Float32Array.of(1) }), buffer: new Holder([1]) };

  it("may be a step with metrics: a step is an update", async () => {
    const manager = setUp();
    const { name } = await manager.save(parts, { step: 1000, episode: 12, metrics: { return_mean: 15.2 } });
    expect(name).toBe("epoch-0000-update-001000");
    const manifest = await manager.restore(parts, await manager.load(name));
    expect(manifest.counters).toEqual({ ...noCounters, updates: 1000, episodes: 12 });
    expect(manifest.metrics).toEqual({ return_mean: 15.2 });
    const both = await manager.save(parts, { step: 7, counters: { epochs: 2, updates: 7 } });
    expect(both.name).toBe("epoch-0002-update-000007");
  });

  const cycle: Record<string, unknown> = {};
  cycle.self = cycle;
  let tall: unknown = 1;
  for (let i = 0; i < 20_000; i++) tall = [tall];
  it.each<[string, unknown, RegExp]>([
    ["nothing", undefined, /metadata is undefined/],
    ["null", null, /metadata is null/],
    ["a number", 7, /metadata is 7/],
    ["no place", { metrics: {} }, /how far the run is/],
    ["a name of its own", { step: 1, note: "x" }, /"note".*metadata: \{ note \}/s],
    ["a misspelt name", { count: {}, step: 1 }, /"count"/],
    ["counters that are null", { counters: null }, /counters is null/],
    ["a step in words", { step: "1000" }, /step is "1000"/],
    ["a negative step", { step: -1 }, /step is -1/],
    ["half an update", { counters: { updates: 0.5 } }, /counters\.updates is 0\.5/],
    ["a counter that is NaN", { counters: { samples: Number.NaN } }, /counters\.samples is NaN/],
    ["a step and other updates", { step: 3, counters: { updates: 4 } }, /step is 3 and counters\.updates 4/],
    ["metrics in words", { step: 1, metrics: { loss: "low" } }, /metrics\.loss is "low"/],
    ["a list of scores", { step: 1, scores: [1] }, /scores is \[1\]/],
    ["a function", { step: 1, metadata: { f: () => 1 } }, /metadata: .*"f" holds a function/],
    ["a big integer", { step: 1, metadata: 1n }, /metadata: .*bigint/],
    ["a cycle", { step: 1, config: cycle }, /config: .*levels|config: .*itself/],
    ["20,000 levels", { step: 1, metadata: tall }, /metadata: .*1000 levels/],
    ["an array in memory", { step: 1, metadata: { a: Float32Array.of(1) } }, /"a" is a tensor or an array/],
  ])("that cannot be filed is refused, and nothing is written: %s", async (_, metadata, message) => {
    const manager = setUp();
    for (const save of [
      () => manager.save(parts, metadata as never),
      async () => manager.write(await snapshot(parts), metadata as never),
    ]) {
      const error = await save().catch((failure: unknown) => failure);
      expect(error).toMatchObject({ code: "METADATA_INVALID", fix: expect.any(String) });
      expect(String(error)).toMatch(message);
    }
    expect(await manager.list()).toEqual([]);
  });

  it("leaves out what is undefined, as JSON does", async () => {
    const manager = setUp();
    const { name } = await manager.save(parts, {
      step: 1,
      metrics: { a: 1, b: undefined } as never,
      metadata: { note: undefined, deep: [{ x: undefined, y: 1 }] } as never,
    });
    const { manifest } = await manager.load(name);
    expect(manifest).toMatchObject({ metrics: { a: 1 }, metadata: { deep: [{ y: 1 }] } });
  });
});

describe("a snapshot", () => {
  it("is of the step at which it was taken, whatever happens before it is written", async () => {
    const manager = inMemory();
    const part = new Holder({ w: Float32Array.of(1), n: 1 });
    const slow = { getState: () => Promise.resolve().then(() => ({ late: 1 })), setState: () => undefined };
    const frozen = snapshot({ part, slow });
    (part.state as { w: Float32Array }).w[0] = 9;
    part.state = { w: Float32Array.of(2), n: 2 };
    const { name } = await manager.write(await frozen, { counters: {} });
    expect(await (await manager.load(name)).state("part")).toEqual({ w: Float32Array.of(1), n: 1 });
  });

  it("is let go of once it is written, and cannot be written twice", async () => {
    const manager = inMemory();
    const frozen = snapshotOf({ part: { n: 1 } });
    await manager.write(frozen, { counters: {} });
    await expect(manager.write(frozen, { counters: {} })).rejects.toMatchObject({
      code: "SNAPSHOT_RELEASED",
    });
  });

  it("refuses a tensor with two owners, and what cannot be saved, naming the component", async () => {
    const w = put([1], { engine: "wasm" });
    await expect(snapshot({ a: new Holder({ w }), b: new Holder([w]) })).rejects.toThrow(/a: w and b: \[0\]/);
    await expect(snapshot({ a: new Holder({ f: (() => 1) as never }) })).rejects.toThrow(
      /component "a".*"f" holds a function/s,
    );
  });
});

describe("an exact restore", () => {
  const w = (...shape: number[]) =>
    put(new Float32Array(shape.reduce((a, b) => a * b, 1)), { shape, engine: "wasm" });
  const save = async (manager: CheckpointManager, parts: Record<string, StateTree>, more = {}) => {
    const holders = Object.fromEntries(
      Object.entries(parts).map(([name, state]) => [name, new Holder(state)]),
    );
    return manager.load((await manager.save(holders, { counters: {}, ...more })).name);
  };

  it("refuses with the whole list of what does not fit, and changes nothing", async () => {
    const other = { ...somebody, engine: "xla", threads: 64 };
    let present = somebody;
    const manager = inMemory({ computedBy: async () => present });
    const saved = await save(
      manager,
      { params: { a: w(2, 3), b: w(4), c: w(1) }, old: 1, rest: { n: 1 } },
      { config: { optimizer: { rate: 0.1, name: "adam" }, batch: 32 } },
    );
    present = other;
    const params = new Holder({ a: w(3, 2), b: w(4), d: w(2) });
    const restoring = manager.restore({ params, fresh: new Holder(1), rest: new Holder({ n: 0 }) }, saved, {
      config: { optimizer: { rate: 0.2, name: "adam" }, batch: 32, seed: 1 },
    });
    const error = await restoring.catch((found: Error) => found);
    expect(error).toMatchObject({ code: "CHECKPOINT_MISMATCH" });
    const lines = (error as Error).message.replace(" [CHECKPOINT_MISMATCH]", "").split("\n");
    expect(lines.filter((line) => line.startsWith("  - "))).toEqual([
      '  - component "fresh" is not in the checkpoint',
      '  - component "old" is not in this run',
      "  - params: a is f32[2,3] in the checkpoint and f32[3,2] here",
      "  - params: c (f32[1]) is not in this run",
      "  - params: d (f32[2]) is not in the checkpoint",
      "  - config.optimizer.rate is 0.1 in the checkpoint and 0.2 here",
      "  - config.seed is only in this run (1)",
      '  - computed by: engine is "none" in the checkpoint and "xla" here',
      "  - computed by: threads is 2 in the checkpoint and 64 here",
    ]);
    expect((params.state as { a: Tensor }).a.shape).toEqual([3, 2]);
  });

  it("goes on with warnings where a difference is accepted", async () => {
    const warnings: string[] = [];
    let threads = 2;
    const manager = inMemory({
      computedBy: async () => ({ ...somebody, threads }),
      warn: (t: string) => warnings.push(t),
    });
    const saved = await save(manager, { part: 7 }, { config: { a: 1 } });
    threads = 3;
    const part = new Holder(0);
    await manager.restore({ part }, saved, { config: { a: 2 }, allow: ["config", "computedBy"] });
    expect(part.state).toBe(7);
    expect(warnings).toHaveLength(2);
  });

  it("leaves it to a component that varies whether its state fits", async () => {
    const manager = inMemory();
    const saved = await save(manager, { buffer: [w(4)] });
    const buffer = Object.assign(new Holder([]), { varies: true });
    await manager.restore({ buffer }, saved);
    expect(buffer.state).toHaveLength(1);
    await expect(manager.restore({ buffer: new Holder([]) }, saved)).rejects.toThrow(/not in this run/);
  });

  it("says which component did not take its state", async () => {
    const manager = inMemory();
    const saved = await save(manager, { part: 1 });
    const part = {
      getState: () => 1,
      setState: () => {
        throw new Error("no");
      },
    };
    await expect(manager.restore({ part }, saved)).rejects.toThrow(
      /component "part" did not take its state.*: no/,
    );
  });

  it("takes over parameters alone, or the optimizer too, for a warm start", async () => {
    const manager = inMemory();
    const saved = await save(manager, { params: { a: w(2) }, optimizer: { m: 5 }, data: 3 });
    const run = () => ({
      params: new Holder({ a: w(2) }),
      optimizer: new Holder({ m: 0 }),
      data: new Holder(0),
      more: new Holder(1),
    });
    const warm = run();
    await manager.restore(warm, saved, { mode: "warmStart" });
    expect([warm.optimizer.state, warm.data.state]).toEqual([{ m: 0 }, 0]);
    const both = run();
    await manager.restore(both, saved, { mode: "warmStartOptimizer" });
    expect([both.optimizer.state, both.data.state]).toEqual([{ m: 5 }, 0]);
    const unlike = { params: new Holder({ a: w(3) }) };
    await expect(manager.restore(unlike, saved, { mode: "warmStart" })).rejects.toThrow(
      /f32\[2\] in the checkpoint and f32\[3\] here/,
    );
    await expect(manager.restore({}, saved, { mode: "warmStart" })).rejects.toThrow(
      /"params" is not in this run/,
    );
  });
});

describe("what else lies in a directory", () => {
  it("is left alone", async () => {
    const directory = newFolder();
    mkdirSync(join(directory, "logs"), { recursive: true });
    writeFileSync(join(directory, "my notes.txt"), "x");
    const warnings: string[] = [];
    const manager = new CheckpointManager({
      store: localStore(directory),
      keep: { last: 1 },
      warn: (t) => warnings.push(t),
    });
    for (const epochs of [1, 2]) await manager.save({ a: new Holder(1) }, { counters: { epochs } });
    expect((await manager.list()).map(({ name }) => name)).toEqual(["epoch-0002-update-000000"]);
    expect(await manager.latest()).toBeDefined();
    await manager.close();
    expect(readdirSync(directory).sort()).toEqual(["epoch-0002-update-000000", "logs", "my notes.txt"]);
    expect(warnings).toEqual([]);
  });

  it("a checkpoint without a manifest is told of", async () => {
    const directory = newFolder();
    mkdirSync(join(directory, "epoch-0001-update-000001"), { recursive: true });
    const warnings: string[] = [];
    const manager = new CheckpointManager({ store: localStore(directory), warn: (t) => warnings.push(t) });
    expect(await manager.latest()).toBeUndefined();
    expect(warnings).toEqual([expect.stringMatching(/has no manifest\.json/)]);
  });
});
