import { describe, expect, it } from "vitest";
import { compile, grad, np, put, random, spec, type Value } from "../engine/index.ts";
import { testEngines } from "../engine/run/engines.test-support.ts";
import * as nn from "./index.ts";

describe.each(testEngines())("dropout on %s", (engine) => {
  const x = () => put(new Float32Array(10_000).fill(3), { engine });
  const of = (rate: number) =>
    compile((v: Value, k: Value) => nn.dropout(rate).apply({}, v, { train: true, key: k }), { engine });

  it("drops the share it is told and keeps the mean", async () => {
    const y = await of(0.25)(x(), Uint32Array.of(0, 1)).read();
    expect(new Set(y)).toEqual(new Set([0, 4]));
    const dropped = y.filter((v) => v === 0).length / y.length;
    expect(Math.abs(dropped - 0.25)).toBeLessThan(0.02);
  });

  it("draws anew for each key, and the same for the same", async () => {
    const run = of(0.5);
    const [a, b, c] = await Promise.all([1, 1, 2].map((seed) => run(x(), Uint32Array.of(0, seed)).read()));
    expect(a).toEqual(b);
    expect(a).not.toEqual(c);
  });

  it("drops everything at 1 and nothing at 0 or without training", async () => {
    expect(new Set(await of(1)(x(), Uint32Array.of(0, 1)).read())).toEqual(new Set([0]));
    expect(new Set(await of(0)(x(), Uint32Array.of(0, 1)).read())).toEqual(new Set([3]));
    const still = compile((v: Value) => nn.dropout(0.5).apply({}, v), { engine });
    expect(new Set(await still(x()).read())).toEqual(new Set([3]));
  });

  it("drops from the gradient what it dropped from the value", async () => {
    const both = compile(
      (v: Value, k: Value) => {
        const run = (u: Value) => nn.dropout(0.5).apply({}, u, { train: true, key: k });
        return [run(v), grad((u: Value) => np.sum(run(u)))(v)];
      },
      { engine },
    );
    const [y, slope] = both(x(), Uint32Array.of(0, 1)) as readonly { read(): Promise<ArrayLike<number>> }[];
    const slopes = Array.from((await slope?.read()) ?? []);
    expect(slopes).toEqual(Array.from((await y?.read()) ?? [], (v) => (v === 0 ? 0 : 2)));
  });

  it("gives each layer of a model its own key", async () => {
    const model = nn.sequential([nn.dropout(0.5), nn.parallel({ a: nn.dropout(0.5), b: nn.dropout(0.5) })]);
    const run = compile((v: Value, k: Value) => model.apply({}, v, { train: true, key: k }), { engine });
    const y = await run(
      put(new Float32Array(64).fill(1), { engine, shape: [1, 64] }),
      Uint32Array.of(0, 1),
    ).read();
    const [first, second] = [[...y].slice(0, 64), [...y].slice(64)];
    expect(first).not.toEqual(second);
    // Half of a half is left in each, and both together leave the first layer's half.
    expect(first.filter((v) => v > 0).length).toBeLessThan(32);
    expect(first.filter((v, i) => v > 0 || (second[i] as number) > 0).length).toBeGreaterThan(10);
  });

  it("asks for a key, naming its path", () => {
    const model = nn.sequential({ body: nn.sequential([nn.dense(2), nn.dropout(0.5)]) });
    const params = model.init(0, spec([1, 2]), { engine });
    const run = compile((p: nn.Params, v: Value) => model.apply(p, v, { train: true }), { engine });
    expect(() => run(params, put([[1, 2]], { engine }))).toThrow(
      /dropout at "body.dropout0": it draws random numbers while training, and was given no key \[KEY_MISSING\]/,
    );
  });
});

describe("keys", () => {
  it("are folded by the layer's place", async () => {
    const model = nn.sequential([nn.relu, nn.dropout(0.5)]);
    const run = compile(
      (v: Value, k: Value) => [
        model.apply({}, v, { train: true, key: k }),
        nn.dropout(0.5).apply({}, v, { train: true, key: random.foldIn(k, 1) }),
      ],
      { engine: "wasm" },
    );
    const [a, b] = run(
      put(new Float32Array(32).fill(1), { engine: "wasm" }),
      Uint32Array.of(3, 4),
    ) as readonly {
      read(): Promise<unknown>;
    }[];
    expect(await a?.read()).toEqual(await b?.read());
  });
});
