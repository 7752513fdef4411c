import { describe, expect, it, vi } from "vitest";
import { Dataset } from "../dataset.ts";
import type { ExampleArray } from "../example.ts";
import { Loader } from "../loader.ts";
import { fromArrays, fromAsyncIterable, fromIterable } from "../sources.ts";
import type { LoadedBatch } from "./batches.ts";
import { createLoader } from "./data-loader.ts";
import { epochs, letters, lettersLoader as loaderOf, restored } from "./letters.test-support.ts";

describe("a data loader", () => {
  it("has the order of a loader of arrays, and typed arrays with their shapes", async () => {
    const key = Uint32Array.of(5, 6);
    const loader = await loaderOf({}, { key });
    const order = new Loader({ length: 23, batchSize: 4, key });
    expect(loader.length).toBe(6);
    const first = await loader.peek(1);
    expect(first[0]).toMatchObject({ x: { shape: [4, 3] }, y: { shape: [4] } });
    const [batch] = first as readonly [LoadedBatch];
    expect((batch.y as ExampleArray).data).toBeInstanceOf(Int32Array);
    for (const batch of (await epochs(loader, 3)).flat()) expect(batch.rows).toEqual([...order.next()]);
    expect(loader.epoch).toBe(3);
  });

  it.each([false, true])("goes on in the middle of an epoch; a stream: %s", async (stream) => {
    const whole = (await epochs(await loaderOf({ stream }), 2)).flat();
    const first = await loaderOf({ stream });
    for await (const _ of first) if (first.position === 12) break;
    const second = await loaderOf({ stream }, { seed: 99 });
    await second.peek(2);
    second.setState(restored(first.getState()));
    expect((await epochs(second, 2)).flat()).toEqual(whole.slice(3));
  });

  it("gives arrays in memory as it gives examples one by one, those of a split too, and names a row that is not finite", async () => {
    const x = { data: Float32Array.from({ length: 60 }, (_, i) => i), shape: [20, 3] };
    const memory = fromArrays({ x, y: Int32Array.from({ length: 20 }, (_, i) => i % 3) });
    const { train } = memory.split({ train: 0.7, rest: 0.3 });
    expect(train.gather(Int32Array.of(1))).toBeDefined();
    const onebyOne = train.map((example) => example);
    expect(onebyOne.gather(Int32Array.of(1))).toBeUndefined();
    const config = { batchSize: 4, seed: 2 };
    expect(await epochs(createLoader(train, config), 2)).toEqual(
      await epochs(createLoader(onebyOne, config), 2),
    );
    for await (const { x, rows } of createLoader(train, config))
      expect([...rows].map((row) => row * 3)).toEqual(
        [...(x as ExampleArray).data].filter((_, i) => i % 3 === 0),
      );
    x.data[23] = Number.NaN;
    await expect(epochs(createLoader(memory, config), 1)).rejects.toMatchObject({
      code: "DATA_NOT_FINITE",
      message: expect.stringContaining("row 7"),
    });
  });

  it.each([false, true])(
    "makes batches in memory of used ones where it may; a stream: %s",
    async (stream) => {
      const expected = await epochs(await loaderOf({ stream }), 2);
      expect(await epochs(await loaderOf({ stream }, { reuse: true }), 2)).toEqual(expected);
      const memoryOf = async (reuse: boolean) => {
        const memory = new Set<unknown>();
        for await (const { x } of await loaderOf({ stream }, { reuse }))
          memory.add((x as ExampleArray).data.buffer);
        return memory.size;
      };
      expect(await memoryOf(false)).toBe(stream ? 5 : 6);
      expect(await memoryOf(true)).toBeLessThanOrEqual(4);
    },
  );

  it("never writes into memory that a source gave of its own", async () => {
    const own = Float32Array.from({ length: 12 }, (_, i) => i);
    const data = new Dataset({
      name: "own",
      length: 12,
      get: (i) => ({ x: i, y: 0 }),
      gather: ([first = 0]) => ({
        x: { data: own.subarray(first, first + 4), shape: [4] },
        y: { data: own, shape: [12] },
      }),
    });
    const loader = createLoader(data, { batchSize: 4, shuffle: false, reuse: true });
    await epochs(loader, 2);
    expect(own).toEqual(Float32Array.from({ length: 12 }, (_, i) => i));
  });

  it("deals the examples out to ranks: each once, as many batches on all", async () => {
    for (const stream of [false, true]) {
      const ranks = await Promise.all(
        [0, 1, 2].map(async (index) => epochs(await loaderOf({ stream }, { rank: { index, count: 3 } }), 1)),
      );
      const rows = ranks.map(([epoch]) => epoch?.map((batch) => batch.rows) ?? []);
      expect(new Set(rows.map((batches) => batches.map((batch) => batch.length).join())).size).toBe(1);
      const all = rows.flat(2);
      expect(new Set(all).size).toBe(all.length);
      expect(all.length).toBe(stream ? 18 : 21);
    }
  });

  it("leaves out bad examples where it is told to, and says how many", async () => {
    const bad = [3, 4, 17];
    await expect(epochs(await loaderOf({ bad }), 1)).rejects.toMatchObject({
      code: "DATA_ROW_INVALID",
      message: expect.stringMatching(/letters, row (3|4|17): letter \1 is smudged/),
    });
    for (const stream of [false, true]) {
      const warnings: string[] = [];
      const warn = (text: string) => void warnings.push(text);
      const [first] = await epochs(await loaderOf({ bad, stream }, { onBadExample: "skip", warn }), 2);
      expect(warnings).toEqual([
        expect.stringMatching(/letters: 3 examples of epoch 0/),
        expect.stringMatching(/letters: 3 examples of epoch 1/),
      ]);
      const seen = first?.flatMap(({ x }) => x.filter((_, i) => i % 3 === 0)) ?? [];
      expect(seen.filter((row) => bad.includes(row))).toEqual([]);
      expect(seen.length).toBe(stream ? 17 : 23);
      expect(first?.flatMap(({ rows }) => rows)).toEqual(seen);
    }
  });

  it("names the row of an example that is unlike the first, or not finite", async () => {
    const ragged = fromIterable([1, 2, 3]).map((n) => ({ x: n < 3 ? [n, n] : [n] }));
    await expect(createLoader(ragged, { batchSize: 2, shuffle: false }).peek(2)).rejects.toMatchObject({
      code: "DATA_RAGGED",
      message: expect.stringContaining("row 2"),
    });
    const nan = fromIterable([1, Number.NaN]).map((n) => ({ x: [n] }));
    await expect(createLoader(nan, { batchSize: 2 }).peek(1)).rejects.toMatchObject({
      code: "DATA_NOT_FINITE",
      message: expect.stringContaining("row 1"),
    });
  });

  it("is closed though its source waits, and begins anew after a batch that was late", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      let waits = true;
      const data = fromAsyncIterable(async function* () {
        for (let i = 0; i < 4; i++) yield { x: i };
        if (waits) await new Promise(() => {});
      });
      const loader = createLoader(data, { batchSize: 2, timeout: 1000 });
      await loader.peek(2);
      const late = expect(loader.peek(3)).rejects.toMatchObject({ code: "DATA_TIMEOUT" });
      await vi.advanceTimersByTimeAsync(1000);
      await late;
      await loader.peek(2);
      const closed = loader.close();
      await vi.advanceTimersByTimeAsync(5000);
      await closed;
      waits = false;
      expect(await loader.peek(3)).toHaveLength(2);
    } finally {
      vi.useRealTimers();
    }
  });

  it("refuses what cannot work, and says what to do", async () => {
    const stream = letters({ stream: true });
    expect(() => createLoader(stream, { batchSize: 4, shuffle: true })).toThrow(/shuffle\({ buffer/);
    expect(() => createLoader(letters(), { batchSize: 4, rank: { index: 2, count: 2 } })).toThrow(/rank/);
    expect(() => createLoader(letters(), { batchSize: 40, lastBatch: "drop" })).toThrow(/DATA_TOO_SMALL/);
    await expect(createLoader(letters(), { batchSize: 4, workers: 1 }).peek(1)).rejects.toMatchObject({
      code: "DATA_NO_RECIPE",
    });
    const warnings: string[] = [];
    const warn = (text: string) => void warnings.push(text);
    await epochs(createLoader(stream, { batchSize: 6, lastBatch: "drop", warn }), 3);
    expect(warnings).toEqual([expect.stringContaining("last 2 examples")]);
  });
});
