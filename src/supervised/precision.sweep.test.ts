import { describe, expect, it } from "vitest";
import { compile, np, put, read, spec, Tensor, type Value, valueAndGrad } from "../engine/index.ts";
import { sweepEngines } from "../engine/run/engines.test-support.ts";
import * as nn from "../nn/index.ts";
import * as optim from "../optim/index.ts";
import { firstDifference } from "../state/index.ts";
import { Trainer } from "../trainer/index.ts";
import { drive } from "./drive.test-support.ts";
import { accuracy } from "./metrics.ts";
import { supervisedTask } from "./task.ts";

/** Two rings: a small net learns them. */
const points = Array.from({ length: 256 }, (_, i) => {
  const radius = i % 2 ? 1 : 0.4;
  return [radius * Math.cos(i * 2.4), radius * Math.sin(i * 2.4)];
});
const data = { x: points, y: Int32Array.from(points, (_, i) => i % 2) };

describe.each(sweepEngines())("precision on %s", (engine) => {
  const make = (precision: "f32" | "bf16" | undefined) =>
    supervisedTask({
      model: nn.sequential([nn.dense(32), nn.batchNorm(), nn.relu, nn.dense(2)]),
      optimizer: optim.adam({ learningRate: 0.01 }),
      data,
      validation: data,
      loss: nn.crossEntropy,
      metrics: { accuracy },
      batchSize: 32,
      seed: 4,
      engine,
      ...(precision && { precision }),
    });

  it("of bf16 trains to the same accuracy, with f32 parameters and moments; without it, in f32 and says so", async () => {
    const warnings: string[] = [];
    const task = make("bf16");
    const { validation } = await new Trainer({
      task,
      config: { epochs: 12 },
      warn: (text) => void warnings.push(text),
    }).train();
    expect(validation?.accuracy).toBeGreaterThan(0.98);
    expect((await task.predict(data.x).read()).constructor).toBe(Float32Array);
    const { components } = await task.snapshot();
    for (const state of [components.params, components.optimizer])
      for (const leaf of Object.values(flatten(state))) expect(leaf.dtype).toMatch(/^(f32|i32)$/);
    const exact = make("f32");
    await drive(exact, { epochs: 1 });
    const half = make("bf16");
    await drive(half, { epochs: 1 });
    const difference = await firstDifference(
      (await half.snapshot(["params"])).components.params ?? null,
      (await exact.snapshot(["params"])).components.params ?? null,
    );
    expect(warnings.filter((text) => text.includes("bf16"))).toHaveLength(engine === "xla" ? 0 : 1);
    if (engine === "xla") expect(difference).toBeDefined();
    else expect(difference).toBeUndefined();
  });

  it("is a setting that a resumed run shares, unnamed for f32", () => {
    expect(make("bf16").settings?.precision).toBe(engine === "xla" ? "bf16" : undefined);
    expect(make("f32").settings).toEqual(make(undefined).settings);
    expect(make("f32").settings).not.toHaveProperty("precision");
    expect(() => make("f16" as "bf16")).toThrow(/OPTION_INVALID/);
  });
});

describe.each(sweepEngines().filter((engine) => engine === "xla"))("a model in bf16 on %s", () => {
  const engine = "xla";
  const images = nn.sequential([
    nn.conv2d(4, 3),
    nn.groupNorm(2),
    nn.relu,
    nn.maxPool2d(2),
    nn.flatten(),
    nn.dense(8),
    nn.layerNorm(),
    nn.dense(3),
  ]);
  const tokens = nn.transformer({ vocabulary: 7, width: 8, heads: 2, layers: 1, context: 5 });

  const cases = () => ({
    images: {
      model: images,
      x: put(
        Float32Array.from({ length: 200 }, (_, i) => Math.sin(i)),
        { shape: [2, 10, 10, 1], engine },
      ),
    },
    tokens: {
      model: tokens,
      x: put(
        Int32Array.from({ length: 10 }, (_, i) => i % 7),
        { shape: [2, 5], engine },
      ),
    },
  });

  it.each(["images", "tokens"] as const)(
    "multiplies in bf16, and reduces, normalizes and exponentiates in f32: %s",
    async (name) => {
      const { model, x } = cases()[name];
      const half = nn.inBf16(model);
      const params = model.init(1, spec(x.shape, x.dtype), { engine });
      const program = (made: typeof model) =>
        compile(
          (p: nn.Params, x: Value) => valueAndGrad((p: nn.Params) => np.mean(np.square(made.apply(p, x))))(p),
          { engine },
        );
      const lines = program(half).lower(params, x).split("\n");
      const of = (op: string) => lines.filter((line) => line.includes(`stablehlo.${op}`));
      const products = [...of("dot_general"), ...of("convolution")];
      expect(products.length).toBeGreaterThan(4);
      expect(products.filter((line) => !line.includes("xbf16>"))).toEqual([]);
      for (const op of ["reduce(", "reduce ", "exponential", "rsqrt", "scatter"])
        expect(of(op).filter((line) => line.includes("bf16") && !line.includes("maximum"))).toEqual([]);
      if (name === "tokens") return; // compiling it takes long, and shows no more
      const [loss, grads] = program(half)(params, x);
      const [known, exact] = program(model)(params, x);
      expect(loss.dtype).toBe("f32");
      expect(await loss.item()).toBeCloseTo(await known.item(), 1);
      const [a, b] = await Promise.all([flat(grads as nn.Params<Tensor>), flat(exact as nn.Params<Tensor>)]);
      const norm = (v: readonly number[]): number => Math.hypot(...v);
      expect(norm(a.map((v, i) => v - (b[i] as number))) / norm(b)).toBeLessThan(0.05);
    },
  );

  const flat = async (tree: nn.Params<Tensor>): Promise<readonly number[]> => {
    const found: number[] = [];
    for (const part of Object.values(tree)) {
      if (!("dtype" in part)) found.push(...(await flat(part as nn.Params<Tensor>)));
      else {
        expect((part as Tensor).dtype).toBe("f32");
        found.push(...(await read(part as Tensor)));
      }
    }
    return found;
  };
});

const flatten = (state: unknown, path = ""): Readonly<Record<string, Tensor>> =>
  state instanceof Tensor
    ? { [path]: state }
    : Object.assign(
        {},
        ...Object.entries((state ?? {}) as object).map(([name, part]) => flatten(part, `${path}.${name}`)),
      );
