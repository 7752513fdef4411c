import { describe, expect, it } from "vitest";
import { compile, type Nested, np, put, read, type Value } from "../engine/index.ts";
import { sweepEngines } from "../engine/run/engines.test-support.ts";
import sklearn from "./metrics.fixture.json" with { type: "json" };
import { ofBatches } from "./metrics.test-support.ts";
import {
  accuracy,
  auc,
  confusionMatrix,
  f1,
  isSetMetric,
  mae,
  perplexity,
  precision,
  r2,
  recall,
  rmse,
  topK,
} from "./metrics.ts";

const { classes, binary, multiLabel, numbers } = sklearn;

interface Set {
  readonly outputs: readonly Nested[];
  readonly y: readonly Nested[];
  readonly weights?: readonly number[];
  readonly stream?: boolean;
  readonly dtype?: "f32";
}

describe.each(sweepEngines())("metrics over a set in several batches on %s", (engine) => {
  /** Metrics of a set that is cut into unequal batches, as `name` or `name.part`. One program for all of them. */
  const valuesOf = async (metrics: Readonly<Record<string, unknown>>, set: Set) => {
    const cuts = [0, 8, 16, 37];
    const run = compile(
      (outputs: Value, y: Value, weight: Value) => {
        const batches = cuts.slice(1).map((end, i): [Value, Value, Value?] => {
          const part = (x: Value): Value => np.slice(x, [cuts[i] as number, end]);
          return set.weights ? [part(outputs), part(y), part(weight)] : [part(outputs), part(y)];
        });
        const all = Object.entries(metrics).map(([name, metric]) => [
          name,
          ofBatches(metric, batches, set.stream ? undefined : 37),
        ]);
        return Object.fromEntries(all) as Readonly<Record<string, Readonly<Record<string, Value>>>>;
      },
      { engine },
    );
    const y = put(set.y, { engine, dtype: set.dtype ?? "i32" });
    const found = await read(run(put(set.outputs, { engine }), y, put(set.weights ?? [0], { engine })));
    return Object.fromEntries(
      Object.entries(found).flatMap(([name, parts]) =>
        Object.entries(parts).map(([part, values]) => [
          part === "value" ? name : `${name}.${part}`,
          values.length === 1 ? Number(values[0]) : [...values],
        ]),
      ),
    );
  };
  const near = (value: number | undefined, digits = 5) => expect.closeTo(value as number, digits);
  const averages = ["macro", "micro", "weighted"] as const;
  const averaged = Object.fromEntries(
    averages.flatMap((average) => [
      [`${average}0`, precision({ average })],
      [`${average}1`, recall({ average })],
      [`${average}2`, f1({ average })],
    ]),
  );
  const expected = (known: typeof classes.averages) =>
    Object.fromEntries(
      averages.flatMap((name) => known[name].map((value, i) => [`${name}${i}`, near(value)])),
    );

  it("of classes are scikit-learn's", async () => {
    const set = { outputs: classes.logits, y: classes.labels };
    const metrics = { accuracy, top1: topK({ k: 1 }), top2: topK({ k: 2 }), perplexity: perplexity() };
    expect(await valuesOf({ ...metrics, confusion: confusionMatrix(), ...averaged }, set)).toEqual({
      accuracy: near(classes.accuracy[0]),
      top1: near(classes.accuracy[0]),
      top2: near(classes.top2[0]),
      perplexity: near(classes.perplexity[0]),
      confusion: classes.confusion.flat(),
      ...expected(classes.averages),
    });
  });

  it("of classes count examples by their weights", async () => {
    const set = { outputs: classes.logits, y: classes.labels, weights: sklearn.weights };
    expect(await valuesOf({ accuracy, ...averaged }, set)).toEqual({
      accuracy: near(classes.accuracy[1]),
      ...expected(classes.weighted),
    });
  });

  it("of yes and no are scikit-learn's, from one logit and from two", async () => {
    const metrics = { p: precision(), r: recall(), f: f1(), auc: auc(), each: f1({ average: "none" }) };
    const [p, r, f] = binary.values.map((value) => near(value));
    const shapes = [
      binary.scores,
      binary.scores.map((score) => [score]),
      binary.scores.map((score) => [0, score]),
    ];
    for (const outputs of engine === "wasm" ? shapes : shapes.slice(2)) {
      const found = await valuesOf(metrics, { outputs, y: binary.labels });
      expect(found).toMatchObject({ p, r, f, auc: near(binary.auc[0]), "each.class1": f });
    }
    if (engine !== "wasm") return; // compiling takes long
    const { weights } = sklearn;
    const weighted = await valuesOf({ auc: auc() }, { outputs: binary.scores, y: binary.labels, weights });
    expect(weighted.auc).toEqual(near(binary.auc[1]));
  });

  it("of several labels, and of ranks, are scikit-learn's; ranks of streams are close", async () => {
    const many = Object.fromEntries(averages.map((average) => [average, f1({ average, multiLabel: true })]));
    const set = { outputs: multiLabel.logits, y: multiLabel.labels };
    expect(await valuesOf({ ...many, auc: auc({ multiLabel: true }) }, set)).toEqual({
      ...Object.fromEntries(averages.map((name) => [name, near(multiLabel.f1[name][0])])),
      auc: near(multiLabel.auc[0]),
    });
    if (engine !== "wasm") return; // compiling takes long
    const three = { outputs: binary.scores3, y: binary.labels3 };
    expect((await valuesOf({ auc: auc() }, three)).auc).toEqual(near(binary.auc3[0]));
    const streamed = { outputs: binary.scores, y: binary.labels, stream: true };
    expect((await valuesOf({ auc: auc() }, streamed)).auc).toEqual(near(binary.auc[0], 2));
  });

  it("of numbers are scikit-learn's, far from 0 too", async () => {
    const set = { outputs: numbers.out, y: numbers.y, dtype: "f32" } as const;
    const metrics = { mae: mae(), rmse: rmse(), r2: r2() };
    const known = ([a, b, c]: readonly number[]) => ({ mae: near(a, 4), rmse: near(b, 4), r2: near(c, 4) });
    expect(await valuesOf(metrics, set)).toEqual(known(numbers.values));
    expect(await valuesOf(metrics, { ...set, weights: sklearn.weights })).toEqual(known(numbers.weighted));
  });

  if (engine === "wasm")
    it("leave out labels that are ignored", async () => {
      const makes = { accuracy, topK, perplexity, precision, recall, f1, confusionMatrix, auc };
      const made = (options: object) =>
        Object.fromEntries(Object.entries(makes).map(([name, make]) => [name, make(options)]));
      const outputs = binary.scores.map((score) => [0, score]);
      const hidden = binary.labels.map((label, i) => (i % 3 === 0 ? -100 : label));
      const weights = binary.labels.map((_, i) => (i % 3 === 0 ? 0 : 1));
      const found = await valuesOf(made({ ignore: -100 }), { outputs, y: hidden });
      expect(found).toEqual(await valuesOf(made({}), { outputs, y: binary.labels, weights }));
    });
});

describe("metrics", () => {
  it("take labels with a last axis of one for labels, and outputs without classes for none", async () => {
    const logits = put(
      [
        [2, 1, 0],
        [0, 3, 1],
        [0, 1, 4],
      ],
      { engine: "wasm" },
    );
    const labels = put(Int32Array.of(0, 1, 1), { shape: [3, 1], engine: "wasm" });
    const share = compile((o: Value, y: Value) => accuracy(o, y), { engine: "wasm" });
    expect(await share(logits, labels).item()).toBeCloseTo(2 / 3, 6);
    const one = compile((o: Value, y: Value) => ofBatches(topK(), [[o, y]]), { engine: "wasm" });
    expect(() => one(put([[2], [1]], { engine: "wasm" }), put([1, 0], { engine: "wasm" }))).toThrow(
      /SHAPE_MISMATCH/,
    );
  });

  it("refuse options they do not have", () => {
    expect(() => f1({ avarage: "macro" } as object)).toThrow(/did you mean "average".*OPTION_UNKNOWN/s);
    expect(() => f1({ average: "mean" } as object)).toThrow(/OPTION_INVALID/);
    expect(() => topK({ k: 0 })).toThrow(/OPTION_INVALID/);
    expect([accuracy, f1(), (x: Value) => x, null].map(isSetMetric)).toEqual([true, true, false, false]);
  });
});
