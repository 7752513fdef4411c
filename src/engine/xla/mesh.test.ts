import { describe, expect, it } from "vitest";
import { grad, np, scan } from "../index.ts";
import { shard } from "../ops/pass-through.ts";
import { meshDevice } from "../run/choose.ts";
import { compile } from "../run/compile.ts";
import { put } from "../run/put.ts";
import type { Tensor } from "../run/tensor.ts";
import type { Value } from "../trace/value.ts";
import { requirePlugin } from "./plugin/require-plugin.test-support.ts";

const plugin = requirePlugin();
const numbers = (length: number) => Float32Array.from({ length }, (_, i) => Math.sin(i * 1.3));
const on = (count: number) => meshDevice("xla", { count, shardOptimizer: false });

/** Steps down the gradient of a small net's loss over a batch, which may be sharded. */
const train = (place: (batch: Value) => Value) =>
  compile((w: Value, x: Value, steps: Value) => {
    const loss = (now: Value) => np.mean(np.square(np.tanh(np.matmul(place(x), now))));
    const body = (now: Value) => [now.sub(grad(loss)(now).mul(0.1)), loss(now)] as const;
    return scan(body, w, undefined, { length: steps, maxLength: 8 });
  });
const inputs = (options: Parameters<typeof put>[1]) =>
  [
    put(numbers(24), { ...options, shape: [6, 4] }),
    put(numbers(96), { ...options, shape: [16, 6] }),
    put(Int32Array.of(5), { ...options, shape: [] }),
  ] as const;

describe.skipIf(!plugin)("several CPU devices as one", () => {
  it.each([2, 4])("%i devices compute what one does", async (count) => {
    const [one, losses] = train((x) => x)(...inputs({ engine: "xla" }));
    const sharded = train((x) => shard(x, 0));
    const [several, others] = sharded(...inputs({ device: on(count) }));
    expect(several.device.mesh?.count).toBe(count);
    const [a, b] = [await one.read(), await several.read()];
    expect(Math.hypot(...a.map((x, i) => x - (b[i] as number))) / Math.hypot(...a)).toBeLessThan(1e-6);
    expect((await others.read())[4]).toBeCloseTo((await losses.read())[4] as number, 6);
    expect(sharded.lower(...inputs({ device: on(count) }))).toMatch(
      new RegExp(`"data"=${count}.*sdy.sharding_constraint .* <@mesh, \\[\\{"data"\\}, \\{\\}\\]>`, "s"),
    );
    expect(sharded.lower(...inputs({ engine: "xla" }))).not.toContain("sdy");
    // A mesh has a program of its own, and gives the same bits again.
    const [again] = sharded(...inputs({ device: on(count) }));
    expect([await again.read(), sharded.programs]).toEqual([b, 1]);
  });

  it.each([0, 1, 2])(
    "reads a tensor that is sharded along axis %i as a whole, and parts of it",
    async (axis) => {
      const data = numbers(4 * 8 * 12);
      const x = put(data, { shape: [4, 8, 12], device: on(4) });
      const y = compile((x: Value) => shard(x.mul(1), axis))(x);
      const z = put(data, { shape: [4, 8, 12], device: on(4), axis });
      expect([x.shardedAxis, y.shardedAxis, z.shardedAxis]).toEqual([undefined, axis, axis]);
      expect(await compile((z: Value) => z.mul(1))(z).read()).toEqual(data);
      expect(await y.read()).toEqual(data);
      expect(y.readSync()).toEqual(data);
      expect([await x.inPlace().then((memory) => memory?.release()), await y.inPlace()]).toEqual([
        undefined,
        undefined,
      ]);
      const bytes = new Uint8Array(data.buffer);
      for (const [from, length] of [
        [0, bytes.length],
        [0, 3],
        [37, 500],
        [bytes.length - 90, 90],
      ] as const) {
        for (const tensor of [x, y]) {
          const part = new Uint8Array(length);
          await tensor.readBytes(from, part);
          expect(part).toEqual(bytes.slice(from, from + length));
        }
      }
    },
  );

  it("has a program for arguments that are sharded, and one for those that are not", async () => {
    const double = compile((x: Value) => x.mul(2));
    const x = put(numbers(16), { shape: [8, 2], device: on(2) });
    const parts = compile((x: Value) => shard(x.add(0), 0))(x);
    const results: Tensor[] = [double(x), double(parts), double(x), double(parts)];
    for (const each of results) expect(await each.read()).toEqual(numbers(16).map((n) => n * 2));
    expect(double.programs).toBe(2);
    // Only what says so leaves a program sharded.
    expect(results.map(({ shardedAxis }) => shardedAxis)).toEqual(Array(4).fill(undefined));
  });

  it("runs many programs at a time, on more devices than there are cores, with products for all threads", async () => {
    const device = on(8);
    const sum = compile((x: Value, w: Value, by: Value) => {
      const parts = [1, 2, 3, 4, 5, 6].map((i) => np.sum(np.matmul(shard(x, 0).mul(by.add(i)), w)));
      return parts.reduce((a, b) => a.add(b));
    });
    const x = put(new Float32Array(512 * 512).fill(1 / 64), { shape: [512, 512], device });
    const w = put(new Float32Array(512 * 512).fill(1 / 64), { shape: [512, 512], device });
    const all = Array.from({ length: 8 }, (_, i) =>
      sum(x, w, put(Float32Array.of(i), { shape: [], device })),
    );
    const found = await Promise.all(all.map((each) => each.item()));
    expect(found).toEqual(all.map((_, i) => (512 ** 3 * (6 * i + 21)) / 4096));
  });

  it("refuses more devices than can work together, and an engine that has one", () => {
    const failure = (code: string, message: RegExp) =>
      expect.objectContaining({ code, message: expect.stringMatching(message) });
    expect(() => on(17)).toThrow(failure("DEVICES_UNAVAILABLE", /17 devices.*16 at most/));
    expect(() => meshDevice("wasm", { count: 2, shardOptimizer: false })).toThrow(
      failure("DEVICES_UNAVAILABLE", /wasm engine has one/),
    );
    const apart = put([1], { engine: "xla" });
    expect(() => compile((x: Value, y: Value) => x.add(y))(put([1], { device: on(2) }), apart)).toThrow(
      failure("DEVICE_MISMATCH", /on xla:0, .* on xla:0-1/),
    );
  });
});
