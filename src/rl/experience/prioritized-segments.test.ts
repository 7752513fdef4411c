import { describe, expect, it } from "vitest";
import { compile, hostRandom, put, type Value } from "../../engine/index.ts";
import { testEngines } from "../../engine/run/engines.test-support.ts";
import { prioritizedSegments } from "./prioritized-segments.ts";

const sizes = [4, 1, 0, 9];

describe.each(testEngines())("prioritised segments on %s", (engine) => {
  it("come as often as their sizes say, with the importance that makes up for it", async () => {
    const [count, alpha, beta] = [20_000, 0.5, 0.4];
    const draw = compile(
      (x: Value, key: Value, b: Value) => prioritizedSegments(x, key, { count, alpha, beta: b }),
      { engine },
    );
    const { indices, importance } = draw(put(sizes, { engine }), hostRandom.hostKey(5), beta);
    const [drawn, weights] = [await indices.read(), await importance.read()];
    // w = 2, 1, 0, 3.
    const p = [2, 1, 0, 3].map((w) => (w + 1e-6) / (6 + 1e-6));
    const times = [0, 0, 0, 0];
    drawn.forEach((segment, i) => {
      times[segment] = (times[segment] as number) + 1;
      expect((weights[i] as number) / (4 * (p[segment] as number)) ** -beta).toBeCloseTo(1, 5);
    });
    times.forEach((n, segment) => {
      expect(Math.abs(n / count - (p[segment] as number))).toBeLessThan(0.015);
    });
  });

  it("come alike where there is nothing to go by, and the same for the same key", async () => {
    const draw = compile((x: Value, key: Value) => prioritizedSegments(x, key, { count: 4000 }), { engine });
    const of = async (seed: number) => {
      const { indices, importance } = draw(put([0, 0, 0, 0], { engine }), hostRandom.hostKey(seed));
      return [await indices.read(), await importance.read()] as const;
    };
    const [drawn, weights] = await of(1);
    const times = [0, 1, 2, 3].map((segment) => drawn.filter((x) => x === segment).length);
    for (const n of times) expect(Math.abs(n - 1000)).toBeLessThan(120);
    expect(new Set(weights).size).toBe(1);
    expect(await of(1)).toEqual([drawn, weights]);
    expect(await of(2)).not.toEqual([drawn, weights]);
  });
});
