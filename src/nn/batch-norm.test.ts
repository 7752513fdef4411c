import { describe, expect, it } from "vitest";
import { treeMap } from "../core/index.ts";
import { compile, np, put, read, spec, type Tensor, type Value, valueAndGrad } from "../engine/index.ts";
import { testEngines } from "../engine/run/engines.test-support.ts";
import torch from "./batch-norm.fixture.json" with { type: "json" };
import * as nn from "./index.ts";

describe.each(testEngines())("batchNorm on %s", (engine) => {
  it.each(torch.map((given) => [given.shape.join("x"), given] as const))(
    "trains and evaluates as PyTorch's: %s",
    async (_, { shape, options, x, outputs, evaluated, params }) => {
      const model = nn.batchNorm(options);
      const step = compile(
        (p: nn.Params, input: Value) => {
          const [[, y, moved], grads] = valueAndGrad((p: nn.Params) => {
            const moments = new nn.Moments();
            const y = model.apply(p, input, { train: true, moments });
            const loss = np.mean(y.ravel().mul(np.cos(np.arange(y.size))));
            return [loss, y, moments.merge(p)] as const;
          })(p);
          const stepped = treeMap((a: Value, g: Value) => a.sub(g.mul(0.1)), p, grads);
          const { mean, variance } = moved;
          return { y, params: { ...stepped, mean, variance } as nn.Params, grads };
        },
        { engine },
      );
      const placed = x.map((numbers) => put(Float32Array.from(numbers), { shape, engine }));
      let now = model.init(0, spec(shape), { engine });
      for (const [i, known] of outputs.entries()) {
        const next = step(now, placed[i] as Tensor);
        const y = await next.y.read();
        known.forEach((value, k) => void expect(y[k]).toBeCloseTo(value, 4));
        expect([...(await (next.grads.mean as Tensor).read())].every((g) => g === 0)).toBe(true);
        now = next.params as nn.Params<Tensor>;
      }
      const found = await read(now as Readonly<Record<string, Tensor>>);
      for (const [name, numbers] of Object.entries(params))
        numbers.forEach((value, k) => void expect(found[name]?.[k]).toBeCloseTo(value, 4));
      const evaluate = compile((p: nn.Params, input: Value) => model.apply(p, input), { engine });
      const y = await evaluate(now, placed[3] as Tensor).read();
      evaluated.forEach((value, k) => void expect(y[k]).toBeCloseTo(value, 3));
    },
  );
});

describe("batchNorm", () => {
  it("says what it needs", () => {
    const model = nn.batchNorm();
    const apply = (rows: number, options: nn.ApplyOptions) => () =>
      compile((p: nn.Params, x: Value) => model.apply(p, x, options), { engine: "wasm" })(
        model.init(0, spec([4, 3]), { engine: "wasm" }),
        put(new Float32Array(rows * 3), { shape: [rows, 3], engine: "wasm" }),
      );
    expect(apply(4, { train: true })).toThrow(/MOMENTS_MISSING/);
    expect(apply(1, { train: true, moments: new nn.Moments() })).toThrow(/lastBatch/);
    expect(() => nn.batchNorm({ momentum: 2 })).toThrow(/OPTION_INVALID/);
    expect(nn.fromRecipe(nn.batchNorm({ momentum: 0.2 }).recipe as nn.Recipe).kind).toBe("batchNorm");
  });
});
