import { describe, expect, it } from "vitest";
import { compile, put, read, type Value } from "../engine/index.ts";
import { testEngines } from "../engine/run/engines.test-support.ts";
import { ofBatch } from "./metrics.test-support.ts";
import {
  classification,
  fallbackStrategy,
  languageModeling,
  modalityStrategies,
  multimodal,
  regression,
  strategyOf,
  taskSpec,
} from "./strategies.ts";

describe("taskSpec", () => {
  it.each([
    ["text", "languageModeling"],
    ["multimodal", "languageModeling"],
    ["vision", "visionClassification"],
    ["tabular", "regression"],
  ] as const)("learns %s by %s", (modality, strategy) => {
    expect(taskSpec({ modality }).strategy).toBe(strategy);
    expect(modalityStrategies[modality]).toBe(strategy);
    expect(strategyOf({ modality }).name).toBe(strategy);
  });

  it("takes another strategy, and refuses what is none", () => {
    expect(strategyOf({ modality: "tabular", strategy: "classification" }).name).toBe("classification");
    expect(() => taskSpec({ modality: "txt" as never })).toThrow(/did you mean "text"/);
    expect(() => taskSpec({ modality: "text", strategy: "language" as never })).toThrow(/OPTION_INVALID/);
    expect(() => regression({ error: "mes" as never })).toThrow(/did you mean "mse"/);
  });

  it("names metrics, which are made for the strategy", () => {
    const vision = strategyOf({ modality: "vision", metrics: ["accuracy", "f1", "confusionMatrix"] });
    expect(Object.keys(vision.metrics)).toEqual(["accuracy", "f1", "confusionMatrix"]);
    expect(vision.targets).toBeUndefined();
    const spec = {
      name: "pets",
      modality: "multimodal",
      inputs: ["image", "text"],
      targets: "text",
    } as const;
    expect(taskSpec(spec)).toEqual({ ...spec, strategy: "languageModeling" });
    expect(() => taskSpec({ modality: "text", metrics: ["f2"] as never })).toThrow(/f1.*OPTION_INVALID/s);
    expect(() => strategyOf({ modality: "tabular", labelSmoothing: 0.1 })).toThrow(/OPTION_UNKNOWN/);
    const many = { modality: "vision", strategy: "multiLabel", metrics: ["accuracy"] } as const;
    expect(() => strategyOf(many)).toThrow(/OPTION_INVALID/);
  });

  it("takes whole numbers for classes where nothing is said", () => {
    expect(fallbackStrategy(Int32Array.of(1)).name).toBe("classification");
    expect(fallbackStrategy({ data: [1], dtype: "i32" }).name).toBe("classification");
    expect(fallbackStrategy([1, 0]).name).toBe("regression");
    expect(fallbackStrategy(undefined).name).toBe("regression");
  });
});

describe.each(testEngines())("strategies on %s", (engine) => {
  it("model language by the tokens that count", async () => {
    const { loss, metrics, targets } = languageModeling();
    const run = compile(
      (logits: Value, y: Value) => [loss(logits, y), ofBatch(metrics.accuracy, logits, y)] as const,
      { engine },
    );
    const logits = put(
      [
        [
          [0, 0],
          [9, 0],
          [0, 9],
        ],
      ],
      { engine },
    );
    const labels = (...y: number[]) => put(Int32Array.from(y), { shape: [1, 3], engine });
    const [one, right] = run(logits, labels(1, -100, -100));
    expect([await one.item(), await right.item()]).toEqual([expect.closeTo(Math.LN2, 5), 0]);
    expect(await run(logits, labels(-100, 0, 0))[1].item()).toBe(0.5);
    const next = compile((x: Value) => targets?.(x) as { x: Value; y: Value }, { engine })(
      put(Int32Array.of(1, 2, 3), { shape: [1, 3], engine }),
    );
    expect([[...(await next.x.read())], [...(await next.y.read())]]).toEqual([
      [1, 2],
      [2, 3],
    ]);
  });

  it("classify by labels of any type, and predict numbers of either shape", async () => {
    const both = compile(
      (logits: Value, y: Value) => [
        classification().loss(logits, y),
        ofBatch(classification().metrics.accuracy, logits, y),
      ],
      { engine },
    );
    const [loss, accuracy] = both(
      put(
        [
          [0, 0],
          [9, 0],
        ],
        { engine },
      ),
      put([1, 0], { engine }),
    );
    expect(await loss?.item()).toBeCloseTo((Math.LN2 + Math.log1p(Math.exp(-9))) / 2, 5);
    expect(await accuracy?.item()).toBe(0.5);
    const pair = compile((image: Value, text: Value) => multimodal().targets?.({ image, text }) as object, {
      engine,
    });
    const tokens = put(Int32Array.of(1, 2, 3), { shape: [1, 3], engine });
    const next = (await read(pair(put([[0]], { engine }), tokens))) as { x: { text: unknown }; y: unknown };
    expect([next.x.text, next.y]).toEqual([Int32Array.of(1, 2), Int32Array.of(2, 3)]);
    const error = compile((out: Value, y: Value) => regression({ error: "mae" }).loss(out, y), { engine });
    expect(await error(put([[1], [2]], { engine }), put([3, 2], { engine })).item()).toBe(1);
  });
});
