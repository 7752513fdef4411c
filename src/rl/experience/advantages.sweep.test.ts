import { describe, expect, it } from "vitest";
import { compile, type EngineName, np, put, type Tensor, type Value } from "../../engine/index.ts";
import { sweepEngines } from "../../engine/run/engines.test-support.ts";
import { inSample } from "../../sweep.test-support.ts";
import fixture from "./advantages.fixture.json" with { type: "json" };
import { type AdvantageInputs, advantages } from "./advantages.ts";

interface PlainRollout {
  readonly time: number;
  readonly rows: number;
  readonly rewards: Float32Array;
  /** One more than the others. */
  readonly values: Float32Array;
  readonly terminated: Float32Array;
  readonly ends: Float32Array;
  readonly valid: Float32Array;
  readonly ratio: Float32Array;
}

/** Episodes of some steps, terminated or truncated, each followed by a step that does not count. */
function rollout(time: number, rows: number): PlainRollout {
  const n = time * rows;
  const wave = (size: number, seed: number) =>
    Float32Array.from({ length: size }, (_, i) => Math.sin(i * 12.9898 + seed) * 2);
  const [terminated, ends, valid] = [new Float32Array(n), new Float32Array(n), new Float32Array(n).fill(1)];
  for (let row = 0; row < rows; row++)
    for (let t = 3 + row; t + 1 < time; t += 7 + row) {
      ends[t * rows + row] = 1;
      terminated[t * rows + row] = (t + row) % 2;
      valid[(t + 1) * rows + row] = 0;
    }
  const ratio = wave(n, 3).map((x) => Math.exp(x / 2));
  return { time, rows, rewards: wave(n, 1), values: wave(n + rows, 2), terminated, ends, valid, ratio };
}

/** The formulas as they stand, in double precision. */
function plainly(
  given: PlainRollout,
  {
    gamma,
    lambda,
    rhoBar,
    cBar,
    ones,
  }: Readonly<Record<"gamma" | "lambda" | "rhoBar" | "cBar", number>> & { readonly ones: boolean },
): number[] {
  const { time, rows, rewards, values, terminated, ends, valid } = given;
  const found = new Array<number>(time * rows).fill(0);
  for (let row = 0; row < rows; row++) {
    let after = 0;
    for (let t = time - 1; t >= 0; t--) {
      const i = t * rows + row;
      const r = ones ? 1 : (given.ratio[i] as number);
      const [rho, c] = [Math.min(r, rhoBar), Math.min(r, cBar)];
      const next = gamma * (values[i + rows] as number) * (1 - (terminated[i] as number));
      const delta = rho * ((rewards[i] as number) + next - (values[i] as number));
      after = delta + gamma * lambda * c * after * (1 - (ends[i] as number));
      if (valid[i] === 0) after = 0;
      found[i] = after;
    }
  }
  return found;
}

const on = (engine: EngineName, given: PlainRollout) => {
  const shaped = (x: Float32Array): Tensor => put(x, { shape: [x.length / given.rows, given.rows], engine });
  const { rewards, values, terminated, ends, valid, ratio } = given;
  return {
    ...{ rewards: shaped(rewards), values: shaped(values), terminated: shaped(terminated) },
    ...{ ends: shaped(ends), valid: shaped(valid), ratio: shaped(ratio) },
  };
};

function expectClose(found: ArrayLike<number>, expected: readonly number[]): void {
  expect(found.length).toBe(expected.length);
  const apart = Math.max(...expected.map((x, i) => Math.abs((found[i] as number) - x)));
  expect(apart).toBeLessThan(1e-5);
}

describe.each(sweepEngines())("advantages on %s", (engine) => {
  describe.each([true, false])("in parallel: %s", (parallel) => {
    it.each([1, 2, 7, 16, 33])("agree with a double loop over %i steps", async (time) => {
      const given = rollout(time, 3);
      const settings = { gamma: 0.97, lambda: 0.9, rhoBar: 1.2, cBar: 0.9 };
      const of = compile(
        (x: Omit<AdvantageInputs, "gamma" | "lambda">) => ({
          gae: advantages({ ...x, ...settings, ratio: undefined, parallel }),
          vtrace: advantages({ ...x, ...settings, parallel }),
        }),
        { engine },
      );
      const found = of(on(engine, given) as never);
      const gae = plainly(given, { ...settings, rhoBar: 1, cBar: 1, ones: true });
      expectClose(await found.gae.advantages.read(), gae);
      expectClose(await found.vtrace.advantages.read(), plainly(given, { ...settings, ones: false }));
      const returns = gae.map((a, i) => a + (given.values[i] as number));
      expectClose(await found.gae.returns.read(), returns);
    });

    it("agree with Stable-Baselines3", async () => {
      for (const one of fixture.cases) {
        const { gamma, lambda, advantages: expected, returns } = one;
        const names = ["rewards", "values", "nextValues", "terminated", "ends"] as const;
        const of = compile(
          (x: Readonly<Record<(typeof names)[number], Value>>) =>
            advantages({ ...x, gamma, lambda, parallel }),
          { engine },
        );
        const found = of(Object.fromEntries(names.map((n) => [n, put(one[n], { engine })])) as never);
        expectClose(await found.advantages.read(), expected.flat());
        expectClose(await found.returns.read(), returns.flat());
      }
    });
  });

  it("with ratios of 1 give GAE's own bits, and gamma and lambda may be traced", async () => {
    const given = { ...rollout(128, 4), ratio: new Float32Array(512).fill(1) };
    const of = compile(
      (x: Omit<AdvantageInputs, "gamma" | "lambda">, gamma: Value, lambda: Value) => [
        advantages({ ...x, gamma, lambda, ratio: undefined }).advantages,
        advantages({ ...x, gamma, lambda }).advantages,
        advantages({ ...x, gamma, lambda, rhoBar: 2, cBar: 1.5 }).advantages,
      ],
      { engine },
    );
    const all = await Promise.all(of(on(engine, given) as never, 0.99, 0.95).map((tensor) => tensor.read()));
    expect(all[1]).toEqual(all[0]);
    expect(all[2]).toEqual(all[0]);
    expectClose(
      all[0] as Float32Array,
      plainly(given, { gamma: 0.99, lambda: 0.95, rhoBar: 1, cBar: 1, ones: true }),
    );
  });

  it("what stands in steps that do not count reaches nothing", async () => {
    const given = rollout(20, 2);
    const strange = {
      ...given,
      rewards: given.rewards.map((x, i) => (given.valid[i] === 0 ? Number.NaN : x)),
      ratio: given.ratio.map((x, i) => (given.valid[i] === 0 ? Number.POSITIVE_INFINITY : x)),
    };
    const of = compile(
      (x: Omit<AdvantageInputs, "gamma" | "lambda">) =>
        advantages({ ...x, gamma: 0.99, lambda: 0.95 }).advantages,
      { engine },
    );
    const found = await of(on(engine, strange) as never).read();
    expect(found).toEqual(await of(on(engine, given) as never).read());
    given.valid.forEach((v, i) => {
      if (v === 0) expect(found[i]).toBe(0);
    });
  });

  it("a truncated episode counts what would follow, a terminated one does not", async () => {
    const of = compile(
      (terminated: Value) =>
        advantages({
          ...{
            rewards: np.array([[1, 1]]),
            values: np.array([
              [0.5, 0.5],
              [4, 4],
            ]),
            terminated,
          },
          ...{ ends: np.ones([1, 2]), gamma: 0.5, lambda: 0.9 },
        }).advantages,
      { engine },
    );
    // 1 - 0.5, and with half of 4 on top.
    expect([...(await of(put([[1, 0]], { engine })).read())]).toEqual([0.5, 2.5]);
  });
});

if (inSample)
  it("says what is missing for the last step", () => {
    const of = compile((x: Value) =>
      advantages({ rewards: x, values: x, terminated: x, ends: x, gamma: 1, lambda: 1 }),
    );
    expect(() => of(put([[1, 2]], { engine: "wasm" }))).toThrow(
      /give values \[time \+ 1, rows\]|next value is missing/,
    );
  });
