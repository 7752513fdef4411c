import { describe, expect, it } from "vitest";
import { compile, put, random, read, scan, type Value } from "../../engine/index.ts";
import { testEngines } from "../../engine/run/engines.test-support.ts";
import {
  addMoments,
  centerRewards,
  type Moments,
  noMoments,
  noRewardScale,
  normalize,
  type RewardScale,
  scaleRewards,
} from "./normalization.ts";

const rows = (n: number, size: number, seed: number): Float32Array =>
  Float32Array.from(
    { length: n * size },
    (_, i) => Math.sin(i * 12.9898 + seed) * (1 + (i % size)) + (i % size) * 3,
  );

/** Mean and variance in double precision. */
function momentsOf(x: readonly number[]): readonly [mean: number, variance: number] {
  const mean = x.reduce((a, b) => a + b, 0) / x.length;
  return [mean, x.reduce((sum, y) => sum + (y - mean) ** 2, 0) / x.length];
}

describe.each(testEngines())("running moments on %s", (engine) => {
  it("of batches of any size are those of all rows that count", async () => {
    const size = 3;
    const add = compile((m: Moments, x: Value, valid: Value) => addMoments(m, x, valid), { engine });
    let moments = compile(() => noMoments([size]), { engine })();
    const seen: number[][] = [[], [], []];
    for (const [k, n] of [5, 1, 17, 64, 2].entries()) {
      const x = rows(n, size, k);
      const valid = Float32Array.from({ length: n }, (_, i) => (k > 0 && i % 3 === 1 ? 0 : 1));
      const strange = x.map((y, i) => (valid[Math.floor(i / size)] === 0 ? Number.NaN : y));
      moments = add(moments, put(strange, { shape: [n, size], engine }), put(valid, { engine }));
      x.forEach((y, i) => {
        if (valid[Math.floor(i / size)] === 1) seen[i % size]?.push(y);
      });
    }
    const { mean, variance, count } = await read(moments);
    seen.forEach((column, j) => {
      const [m, v] = momentsOf(column);
      expect(mean[j]).toBeCloseTo(m, 5);
      expect((variance[j] as number) / v).toBeCloseTo(1, 5);
    });
    expect(count[0]).toBe(seen[0]?.length);
  });

  it("change nothing where no row counts, and normalise by nothing before the first", async () => {
    const of = compile(
      (x: Value, valid: Value) => {
        const none = noMoments([2]);
        const some = addMoments(none, x);
        return { before: normalize(x, none), some, same: addMoments(some, x, valid) };
      },
      { engine },
    );
    const x = Float32Array.of(1, 2, 3, -40);
    const { before, some, same } = await read(of(put(x, { shape: [2, 2], engine }), put([0, 0], { engine })));
    expect([...before]).toEqual([1, 2, 3, -10]);
    expect(same).toEqual(some);
    expect([...some.mean]).toEqual([2, -19]);
    expect([...some.variance]).toEqual([1, 441]);
  });

  it("normalise by mean and deviation, and clip", async () => {
    const of = compile((x: Value, m: Moments) => normalize(x, m, { clip: 1.5 }), { engine });
    const moments = { mean: put([1], { engine }), variance: put([4], { engine }), count: put(9, { engine }) };
    const found = await of(put([[2], [-1], [9]], { engine }), moments).read();
    expect(found[0]).toBeCloseTo(0.5, 6);
    expect([...found].slice(1).map((x) => Math.round(x * 1e6) / 1e6)).toEqual([-1, 1.5]);
  });
});

it.skipIf(!testEngines().includes("xla"))(
  "a hundred million rows leave moments as exact as their first",
  async () => {
    // Half of them around 5 with deviation 1, half around 7 with deviation 3: 20,000 batches of 5,000.
    const batch = 5000;
    const many = compile(
      (moments: Moments, at: Value, first: Value, key: Value) => {
        const base = random.normal(key, [batch, 1]);
        // Batches differ: each is the base, moved and stretched so that its moments are known.
        const centre = base.sub(base.mean());
        const unit = centre.div(centre.mul(centre).mean().sqrt());
        return scan(
          (now: Moments, _x: undefined, i: Value) => {
            const wobble = i.add(first).astype("f32").mul(0.7).sin();
            const x = unit.mul(at.greater(0).astype("f32").mul(2).add(1)).add(at.mul(2).add(5)).add(wobble);
            return [addMoments(now, x), null] as const;
          },
          moments,
          undefined,
          { length: 10_000 },
        )[0];
      },
      { engine: "xla" },
    );
    let moments = compile(() => noMoments([1]), { engine: "xla" })();
    const key = Uint32Array.of(1, 2);
    moments = many(moments, 0, 0, key);
    moments = many(moments, 1, 0, key);
    let [first, second] = [0, 0];
    for (let i = 0; i < 10_000; i++) {
      const w = Math.sin(Math.fround(Math.fround(0.7) * i));
      first += w / 10_000;
      second += (w * w) / 10_000;
    }
    const { mean, variance, count } = await read(moments);
    // Of a mixture: mean of variances, and variance of means (2 apart), and that of the wobble.
    expect(count[0]).toBe(1e8);
    expect(mean[0]).toBeCloseTo(6 + first, 3);
    const expected = (1 + 9) / 2 + 1 + second - first * first;
    expect((variance[0] as number) / expected).toBeCloseTo(1, 3);
    // Few rows at a time, so late, neither shift them nor break them.
    const few = compile(
      (m: Moments, x: Value) =>
        scan((now: Moments) => [addMoments(now, x), null] as const, m, undefined, { length: 10_000 })[0],
      { engine: "xla" },
    );
    const later = await read(few(moments, put([[6], [7], [5], [6]], { engine: "xla" })));
    expect(later.mean[0]).toBeCloseTo(mean[0] as number, 2);
    expect((later.variance[0] as number) / expected).toBeCloseTo(1, 2);
  },
);

describe.each(testEngines())("rewards on %s", (engine) => {
  it("are centered by the mean of what came before: mean += rate (r - mean)", async () => {
    const of = compile(
      (rewards: Value, valid: Value, mean: Value) => centerRewards({ rewards, valid, mean, rate: 0.5 }),
      { engine },
    );
    // Means over the rows that count: 3, then 8 (one row), then none, then 1.
    const rewards = put(
      [
        [2, 4],
        [8, 99],
        [99, 99],
        [0, 2],
      ],
      { engine },
    );
    const valid = put(
      [
        [1, 1],
        [1, 0],
        [0, 0],
        [1, 1],
      ],
      { engine },
    );
    const found = of(rewards, valid, put(1, { engine }));
    // The running mean: 1, 2, 5, 5, 3.
    expect([...(await found.rewards.read())]).toEqual([1, 3, 6, 0, 0, 0, -5, -3]);
    expect(await found.mean.item()).toBe(3);
  });

  it("move the mean by a thousandth unless told", async () => {
    const of = compile((r: Value, mean: Value) => centerRewards({ rewards: r, valid: r, mean }).mean, {
      engine,
    });
    expect(await of(put([[1], [1]], { engine }), put(0, { engine })).item()).toBeCloseTo(1 - 0.999 ** 2, 7);
  });

  it("are scaled by the deviation of discounted returns, over rollouts and ends of episodes", async () => {
    const [time, count, gamma] = [6, 2, 0.9];
    const step = compile(
      (scale: RewardScale, rewards: Value, ends: Value, valid: Value) =>
        scaleRewards(scale, { rewards, ends, valid, gamma }),
      { engine },
    );
    let scale = compile(() => noRewardScale(count), { engine })();
    const running = [0, 0];
    const all: number[] = [];
    for (let k = 0; k < 3; k++) {
      const rewards = rows(time, count, k);
      const ends = Float32Array.from({ length: time * count }, (_, i) => ((i + k) % 5 === 0 ? 1 : 0));
      const valid = Float32Array.from({ length: time * count }, (_, i) =>
        i >= count && ends[i - count] ? 0 : 1,
      );
      const shape = { shape: [time, count], engine };
      const result = step(scale, put(rewards, shape), put(ends, shape), put(valid, shape));
      scale = result.scale;
      for (let i = 0; i < time * count; i++) {
        const row = i % count;
        running[row] = (running[row] as number) * gamma + (valid[i] ? (rewards[i] as number) : 0);
        if (valid[i]) all.push(running[row] as number);
        if (ends[i] || !valid[i]) running[row] = 0;
      }
      const [, variance] = momentsOf(all);
      const found = await result.rewards.read();
      rewards.forEach((r, i) => {
        const expected = valid[i] ? Math.min(Math.max(r / Math.sqrt(variance), -10), 10) : 0;
        expect(found[i]).toBeCloseTo(expected, 4);
      });
    }
    expect([...(await scale.returns.read())].map((x) => Math.round(x * 1e4))).toEqual(
      running.map((x) => Math.round(x * 1e4)),
    );
  });
});
