import { describe, expect, it } from "vitest";
import { flatten, leafPaths } from "../../core/index.ts";
import { compile, np, put, random, spec, type Value } from "../../engine/index.ts";
import { sweepEngines } from "../../engine/run/engines.test-support.ts";
import { describeInSample } from "../../sweep.test-support.ts";
import type { Params } from "../model.ts";
import { summary } from "../summary.ts";
import { type KeyValueCache, type TransformerOptions, transformer, transformerEncoder } from "./index.ts";

const small = { vocabulary: 7, width: 8, layers: 2, heads: 2, context: 6 } as const;
const tokens = Int32Array.from([3, 1, 4, 1, 5, 2, 6, 5, 3, 5, 0, 2]);

const fails = (run: () => unknown): string => {
  try {
    run();
  } catch (error) {
    return (error as Error).message;
  }
  return "did not fail";
};

const worst = (a: ArrayLike<number>, b: ArrayLike<number>): number =>
  Array.from(a, (x, i) => Math.abs(x - (b[i] as number))).reduce((p, q) => Math.max(p, q), 0);

describe.each(sweepEngines())("a transformer on %s", (engine) => {
  const x = put(tokens, { shape: [2, 6], engine });

  const kinds: readonly Partial<TransformerOptions>[] = [
    {},
    { positions: "rotary", keyValueHeads: 1, activation: "swiglu", norm: "rms", bias: false },
    { positions: "sinusoidal", tieEmbeddings: true },
  ];
  it.each(kinds)("generates token by token what the whole pass gives: %j", async (options) => {
    const model = transformer({ ...small, ...options });
    const params = model.init(1, spec([2, 6], "i32"), { engine });
    const whole = await compile((p: Params, v: Value) => model.apply(p, v), { engine })(params, x).read();
    const start = compile(() => model.initCache(2), { engine });
    const step = compile(
      (p: Params, v: Value, cache: readonly KeyValueCache[], at: Value) => {
        const one = np.dynamicSlice(v, [0, at], [2, 1]);
        return model.applyCached(p, one, cache, at);
      },
      { engine },
    );
    let cache = start();
    for (let t = 0; t < 6; t++) {
      const next = step(params, x, cache, put(t, { dtype: "i32", engine }));
      cache = next.cache;
      const y = await next.y.read();
      const expected = [0, 1].flatMap((b) => Array.from(whole).slice((b * 6 + t) * 7, (b * 6 + t + 1) * 7));
      expect(worst(y, expected)).toBeLessThanOrEqual(1e-5);
    }
    expect(step.programs).toBe(1);
  });

  it("sees nothing of later tokens where it is causal, and all where it is not", async () => {
    for (const causal of [true, false]) {
      const model = transformer({
        ...small,
        causal,
        init: (_key, shape) =>
          Float32Array.from({ length: shape.reduce((a, b) => a * b) }, (_, i) => Math.sin(i)),
      });
      const params = model.init(1, spec([2, 6], "i32"), { engine });
      const run = compile((p: Params, v: Value) => model.apply(p, v), { engine });
      const other = put(tokens.with(5, 0), { shape: [2, 6], engine });
      const [a, b] = [await run(params, x).read(), await run(params, other).read()];
      const before = worst(Array.from(a).slice(0, 35), Array.from(b).slice(0, 35));
      expect(before === 0).toBe(causal);
      expect(worst(a, b)).toBeGreaterThan(0);
    }
  });

  it("drops while training only", async () => {
    const model = transformer({ ...small, dropout: 0.3 });
    const params = model.init(1, spec([2, 6], "i32"), { engine });
    const run = compile(
      (p: Params, v: Value) => [
        model.apply(p, v),
        model.apply(p, v, { key: random.key(0) }),
        model.apply(p, v, { train: true, key: random.key(0) }),
      ],
      { engine },
    );
    const [plain, told, trained] = run(params, x);
    expect(await told?.read()).toEqual(await plain?.read());
    expect(await trained?.read()).not.toEqual(await plain?.read());
  });

  it("an encoder does not see places its mask hides", async () => {
    const model = transformerEncoder({ width: 8, layers: 2, heads: 2 });
    const params = model.init(1, spec([2, 6, 8]), { engine });
    const run = compile(
      (p: Params, x: Value, known: Value) => model.apply(p, { x, mask: np.slice(known, ":", null, null) }),
      { engine },
    );
    const data = Float32Array.from({ length: 96 }, (_, i) => Math.sin(i * 1.3));
    const known = put(
      Array.from({ length: 12 }, (_, i) => i % 6 < 4),
      { shape: [2, 6], dtype: "bool", engine },
    );
    const changed = data.map((v, i) => (i % 48 >= 32 ? v + 1 : v));
    const [a, b] = [data, changed].map((v) => run(params, put(v, { shape: [2, 6, 8], engine }), known));
    const first = async (y: typeof a) =>
      Array.from((await y?.read()) as Float32Array).filter((_, i) => i % 48 < 32);
    expect(worst(await first(a), await first(b))).toBe(0);
  });
});

describeInSample("a transformer", () => {
  it("has readable paths", () => {
    const paths = leafPaths(flatten(transformer(small).init(0, spec([2, 6], "i32"), { engine: "wasm" }), []));
    expect(paths).toContain("block0.attention.q.w");
    expect(paths).toContain("block1.mlp.down.b");
    expect(paths).toContain("tokens.w");
    expect(paths).toContain("positions.w");
    expect(paths).toContain("head.w");
  });

  it("has no head of its own where embeddings are tied", () => {
    const params = transformer({ ...small, tieEmbeddings: true }).init(0, spec([2, 6], "i32"), {
      engine: "wasm",
    });
    expect(Object.keys(params)).not.toContain("head");
  });

  it("is drawn as a table", () => {
    const table = summary(transformer(small), spec([2, 6], "i32"));
    expect(table).toMatch(/block0\.attention +attention +f32\[2, 6, 8\] +288/);
    expect(table).toMatch(/positions +learnedPositions .*48/);
    expect(table).toMatch(/block1\.mlp\.up +dense/);
  });

  it("names the place and both shapes where something does not fit", () => {
    const model = transformer(small);
    const params = model.init(0, spec([2, 6], "i32"), { engine: "wasm" });
    const run = compile((p: Params, v: Value) => model.apply(p, v), { engine: "wasm" });
    const long = put(new Int32Array(18), { shape: [2, 9], engine: "wasm" });
    expect(fails(() => run(params, long))).toContain("[2, 9]");
    const wrong = {
      ...params,
      block1: transformer({ ...small, width: 4 }).init(0, spec([2, 6], "i32"), { engine: "wasm" })
        .block1 as Params<never>,
    };
    const message = fails(() => run(wrong, put(tokens, { shape: [2, 6], engine: "wasm" })));
    expect(message).toContain('"block1.norm1"');
    expect(message).toContain("[2, 6, 8]");
    const encoder = transformerEncoder({ width: 8, layers: 1, heads: 2 });
    expect(fails(() => encoder.init(0, spec([2, 6, 5])))).toContain(
      "[2, 6, 5], but it takes [batch, time, 8]",
    );
  });

  it("refuses options that make no sense", () => {
    expect(fails(() => transformer({ ...small, layer: 2 } as never))).toContain('did you mean "layers"');
    expect(fails(() => transformer({ ...small, positions: "rotery" as never }))).toContain(
      'did you mean "rotary"',
    );
    expect(fails(() => transformer({ ...small, vocabulary: -1 }))).toContain("-1");
    expect(fails(() => transformer({ ...small, width: 9 }))).toContain("2 equal heads");
    expect(fails(() => transformer({ ...small, norm: "batch" as never }))).toContain('"layer" or "rms"');
    expect(fails(() => transformer({ ...small, activation: "gleu" as never }))).toContain(
      'did you mean "gelu"',
    );
  });
});
