import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import turbo from "@julusian/jpeg-turbo";
import { describe, expect, it, vi } from "vitest";
import type { ExampleArray } from "../example.ts";
import { imageFolder } from "../images.ts";
import type { LoadedBatch } from "./batches.ts";
import { createLoader } from "./data-loader.ts";
import { epochs, lettersLoader as loaderOf, restored } from "./letters.test-support.ts";

describe("worker threads of a loader", () => {
  it("give the same batches whatever their number, with random numbers of each example", async () => {
    const expected = await epochs(await loaderOf(), 2);
    expect(expected[0]?.flatMap(({ x }) => x)).not.toEqual(expected[1]?.flatMap(({ x }) => x));
    for (const workers of [1, 4]) expect(await epochs(await loaderOf({}, { workers }), 2)).toEqual(expected);
    const stream = await epochs(await loaderOf({ stream: true }, { prefetch: 0 }), 2);
    expect(stream[0]?.flatMap(({ rows }) => rows)).toEqual(
      Array.from({ length: 23 }, (_, i) => i).filter((i) => i % 7 !== 6),
    );
    for (const workers of [1, 2, 3])
      expect(await epochs(await loaderOf({ stream: true }, { workers, prefetch: workers - 1 }), 2)).toEqual(
        stream,
      );
  });

  it("give the same batches in memory of used ones, which is theirs again", async () => {
    for (const stream of [false, true]) {
      const expected = await epochs(await loaderOf({ stream }), 2);
      const loader = await loaderOf({ stream }, { workers: 2, reuse: true });
      const [kept] = (await loader.peek(1)) as readonly [LoadedBatch];
      expect(await epochs(loader, 2)).toEqual(expected);
      expect((kept.x as ExampleArray).data).toHaveLength(0);
    }
    const loader = await loaderOf({}, { workers: 2, reuse: true });
    for await (const { x } of loader) {
      const { buffer } = (x as ExampleArray).data;
      structuredClone(buffer, { transfer: [buffer as ArrayBuffer] });
    }
    expect(loader.epoch).toBe(1);
    await loader.close();
  });

  it("share the batches of a stream out: each makes its own alone", async () => {
    const made = async (workers: number): Promise<number> => {
      const loader = await loaderOf({ stream: true, counts: true }, { workers, shuffle: false });
      let most = 0;
      for await (const { y } of loader) most = Math.max(most, ...(y as ExampleArray).data);
      await loader.close();
      return most;
    };
    expect([await made(1), await made(2)]).toEqual([20, 12]);
  });

  it("agree on what examples are like: all go by the first of the stream", async () => {
    for (const onBadExample of ["error", "skip"] as const) {
      const loader = await loaderOf(
        { stream: true, longFrom: 4 },
        { workers: 2, onBadExample, warn: () => {} },
      );
      const second = loader.peek(2).finally(() => loader.close());
      if (onBadExample === "skip") expect(await second).toHaveLength(1);
      else
        await expect(second).rejects.toMatchObject({
          code: "DATA_RAGGED",
          message: expect.stringContaining("row 4"),
        });
    }
  });

  it.each([false, true])("go on in the middle of an epoch; a stream: %s", async (stream) => {
    const whole = (await epochs(await loaderOf({ stream }), 2)).flat();
    const first = await loaderOf({ stream }, { workers: 2 });
    for await (const _ of first) if (first.position === 12) break;
    await first.close();
    const second = await loaderOf({ stream }, { workers: 2, seed: 99 });
    second.setState(restored(first.getState()));
    expect((await epochs(second, 2)).flat()).toEqual(whole.slice(3));
  });

  it("leave out the same examples as the main thread", async () => {
    for (const stream of [false, true]) {
      const warnings = new Set<string>();
      const config = { onBadExample: "skip", warn: (text: string) => warnings.add(text) } as const;
      const options = { bad: [3, 4, 17], stream };
      const expected = await epochs(await loaderOf(options, config), 2);
      expect(warnings.size).toBe(2);
      expect(await epochs(await loaderOf(options, { ...config, workers: 2 }), 2)).toEqual(expected);
      expect(warnings.size).toBe(2);
    }
  });

  it("raise what they threw in the order of the batches, and are named where they have ended", async () => {
    const failing = await loaderOf({ bad: [9] }, { workers: 2, shuffle: false, batchSize: 3 });
    const seen: number[] = [];
    const failed = (async () => {
      for await (const { rows } of failing) seen.push(...rows);
    })();
    await expect(failed).rejects.toMatchObject({
      code: "DATA_ROW_INVALID",
      message: expect.stringContaining("letters, row 9"),
    });
    await failing.close();
    expect(seen).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8]);
    const ending = await loaderOf({ ends: 5 }, { workers: 2, shuffle: false });
    await expect(epochs(ending, 1)).rejects.toMatchObject({
      code: "DATA_WORKER_ENDED",
      message: expect.stringMatching(/worker 1 of 2 of letters/),
    });
  });

  it("end between two images, because a native decoder that is stopped within one ends the process", async () => {
    const folder = mkdtempSync(join(tmpdir(), "espalier-images-"));
    mkdirSync(join(folder, "a"));
    const size = { width: 512, height: 512 };
    const noise = Buffer.from(Array.from({ length: 512 * 512 * 3 }, (_, i) => (i * 7919) % 251));
    const jpeg = turbo.compressSync(noise, { ...size, format: turbo.FORMAT_RGB, quality: 90 });
    for (let i = 0; i < 64; i++) writeFileSync(join(folder, `a/${i}.jpg`), jpeg);
    for (let times = 0; times < 4; times++) {
      const images = imageFolder(folder, { decoder: "jpeg-turbo", dtype: "u8" });
      const loader = createLoader(images, { batchSize: 16, workers: 2 });
      expect(await loader.peek(1)).toHaveLength(1);
      await loader.close();
    }
    rmSync(folder, { recursive: true });
  });

  it("do not keep a program alive that is done with a loader and has not closed it", () => {
    const data = JSON.stringify(new URL("../index.ts", import.meta.url).href);
    const program = `import { createLoader, fromArrays } from ${data};
      const loader = createLoader(fromArrays({ x: new Float32Array(100) }), { batchSize: 4, workers: 2 });
      for await (const { rows } of loader) if (console.log(rows.length) ?? true) break;`;
    const args = ["--import", "tsx", "--input-type=module", "--eval", program];
    const { status, stdout } = spawnSync(process.execPath, args, { encoding: "utf8", timeout: 60_000 });
    expect([status, stdout]).toEqual([0, "4\n"]);
  });

  it("are named where they hang, by the loader's clock alone", async () => {
    // How long a thread takes to start must not count: the clock moves where the test moves it.
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      const hanging = await loaderOf({ hangs: 13 }, { workers: 2, shuffle: false, timeout: 6_000 });
      const batches = hanging[Symbol.asyncIterator]();
      for (const first of [0, 4, 8]) expect((await batches.next()).value?.rows[0]).toBe(first);
      const late = expect(batches.next()).rejects.toMatchObject({
        code: "DATA_TIMEOUT",
        message: expect.stringMatching(/worker 1 of 2 of letters.* 6 s/),
      });
      await vi.advanceTimersByTimeAsync(6_000);
      await late;
    } finally {
      vi.useRealTimers();
    }
  });
});
