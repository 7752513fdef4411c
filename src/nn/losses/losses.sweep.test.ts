import { describe, expect, it } from "vitest";
import { compile, grad, np, put, scan, type Tensor, type Value, vmap } from "../../engine/index.ts";
import { sweepEngines } from "../../engine/run/engines.test-support.ts";
import { binaryCrossEntropy, crossEntropy, focal, huber, kl, mae, mse } from "./index.ts";

const { POSITIVE_INFINITY: inf } = Number;

describe.each(sweepEngines())("losses on %s", (engine) => {
  /** A loss and its gradient by the first argument. */
  const both = async (
    loss: (x: Value) => Value,
    data: number | readonly number[] | readonly (readonly number[])[],
  ) => {
    const run = compile((x: Value) => ({ y: loss(x), slope: grad((v: Value) => np.sum(loss(v)))(x) }), {
      engine,
    });
    const { y, slope } = run(put(data, { engine }));
    // -0 is as good as 0.
    const numbers = async (tensor: Tensor) => Array.from(await tensor.read(), (v) => v + 0);
    return { y: await numbers(y), slope: await numbers(slope) };
  };
  const labels = (...data: number[]) => np.array(data, { dtype: "i32" });

  it("crossEntropy knows certain logits, right and wrong", async () => {
    const none = { reduction: "none" } as const;
    const right = await both(
      (x) => crossEntropy(x, labels(0, 1), none),
      [
        [inf, 0, -inf],
        [-inf, inf, 5],
      ],
    );
    expect(right).toEqual({ y: [0, 0], slope: [0, 0, 0, 0, 0, 0] });
    const wrong = await both(
      (x) => crossEntropy(x, labels(1, 2), none),
      [
        [inf, 0, 1],
        [0, 1, -inf],
      ],
    );
    expect(wrong.y[0]).toBeGreaterThan(1e38);
    expect(wrong.y[1]).toBe(inf);
    expect(wrong.slope.slice(0, 3)).toEqual([1, -1, 0]);
    expect(wrong.slope.every(Number.isFinite)).toBe(true);
    const shared = await both((x) => crossEntropy(x, labels(0), none), [[inf, inf, 0]]);
    expect(shared.y[0]).toBeCloseTo(Math.LN2, 5);
    expect(shared.slope).toEqual([-0.5, 0.5, 0]);
  });

  it("crossEntropy of distributions ignores classes that cannot be", async () => {
    const target = (x: Value) => crossEntropy(x, np.array([[0.5, 0.5, 0]]));
    const { y, slope } = await both(target, [[0, 0, -inf]]);
    expect(y[0]).toBeCloseTo(Math.LN2, 5);
    expect(slope).toEqual([0, 0, 0]);
  });

  it("crossEntropy gives NaN for a label that is no class, unless it is hidden", async () => {
    const far = [
      [1, 2],
      [3, 4],
    ];
    expect((await both((x) => crossEntropy(x, labels(0, 2), { reduction: "none" }), far)).y[1]).toBeNaN();
    expect((await both((x) => crossEntropy(x, labels(-100, 0)), far)).y[0]).toBeNaN();
    const hidden = await both(
      (x) => crossEntropy(x, labels(0, -100), { mask: np.array([true, false]) }),
      far,
    );
    expect(hidden.y[0]).toBeCloseTo(Math.log(1 + Math.E), 5);
    expect(hidden.slope.slice(2)).toEqual([0, 0]);
  });

  it("binary losses know certain logits, right and wrong", async () => {
    const y = () => np.array([1, 0, 1, 0]);
    const bce = await both((x) => binaryCrossEntropy(x, y(), { reduction: "none" }), [inf, -inf, -inf, inf]);
    expect(bce).toEqual({ y: [0, 0, inf, inf], slope: [0, 0, -1, 1] });
    for (const gamma of [0, 0.5, 2]) {
      const one = await both(
        (x) => focal(x, y(), { gamma, alpha: null, reduction: "none" }),
        [inf, -inf, -inf, inf],
      );
      expect([one.y[0], one.y[1]]).toEqual([0, 0]);
      expect(Math.min(one.y[2] as number, one.y[3] as number)).toBeGreaterThan(1e29);
      expect(one.slope).toEqual([0, 0, -1, 1]);
    }
  });

  it("kl knows distributions that exclude classes", async () => {
    const target = () => np.array([[0, 1, -inf]]);
    const same = await both((x) => kl(x, target()), [[0, 1, -inf]]);
    expect(same.y[0]).toBeCloseTo(0, 6);
    expect(same.slope.every((v) => Math.abs(v) < 1e-6)).toBe(true);
    const options = { form: "logProbabilities", targetForm: "probabilities" } as const;
    expect((await both((x) => kl(x, np.array([[1, 0]]), options), [[0, -inf]])).y).toEqual([0]);
    expect((await both((x) => kl(x, np.array([[0.5, 0.5]]), options), [[0, -inf]])).y).toEqual([inf]);
    expect((await both((x) => kl(x, np.array([[inf, 0]])), [[inf, 0]])).y).toEqual([0]);
  });

  it("hide what a mask excludes, whatever it is", async () => {
    const mask = () => np.array([true, false]);
    const bad = [1, Number.NaN];
    for (const loss of [mse, mae, huber, binaryCrossEntropy, focal]) {
      const { y, slope } = await both((x) => loss(x, np.array([0, inf]), { mask: mask() }), bad);
      expect([Number.isFinite(y[0]), Number.isFinite(slope[0]), slope[1]]).toEqual([true, true, 0]);
    }
    const nothing = await both((x) => mse(x, np.array([0, 0]), { mask: np.array([false, false]) }), bad);
    expect(nothing).toEqual({ y: [0], slope: [0, 0] });
    const rows = await both(
      (x) =>
        kl(
          x,
          np.array([
            [0, 1],
            [1, 0],
          ]),
          { mask: mask() },
        ),
      [[0, 1], bad],
    );
    expect(rows.y[0]).toBeCloseTo(0, 6);
    expect(rows.slope.slice(2)).toEqual([0, 0]);
  });

  it("weigh by numbers of a mask", async () => {
    const mask = () => np.array([3, 1]);
    const { y, slope } = await both((x) => mse(x, np.array([0, 0]), { mask: mask() }), [2, 4]);
    expect([y, slope]).toEqual([[7], [3, 2]]);
  });

  it("hold one by one under vmap, and inside a loop", async () => {
    const data = [
      [1, 2, inf],
      [0, -3, 4],
    ];
    const each = (x: Value) => vmap((row: Value, label: Value) => crossEntropy(row, label))(x, labels(1, 2));
    const whole = await both((x) => crossEntropy(x, labels(1, 2), { reduction: "none" }), data);
    expect(await both(each, data)).toEqual(whole);
    const looped = (x: Value) =>
      scan((sum: Value, row: Value) => [np.add(sum, kl(row, np.array([0, 1, 2]))), sum], np.zeros([]), x)[0];
    const summed = (x: Value) =>
      kl(
        x,
        np.array([
          [0, 1, 2],
          [0, 1, 2],
        ]),
        { reduction: "sum" },
      );
    const [loop, sum] = [await both(looped, data), await both(summed, data)];
    loop.slope.forEach((v, i) => expect(v).toBeCloseTo(sum.slope[i] as number, 5));
  });

  it("are small curves of large differences", async () => {
    const { y, slope } = await both(
      (x) => huber(x, np.array([0, 0]), { delta: 2, reduction: "none" }),
      [inf, -1e30],
    );
    expect([y[0], slope]).toEqual([inf, [2, -2]]);
    expect((y[1] as number) / 2e30).toBeCloseTo(1, 5);
  });

  it("refuse arguments that do not fit", () => {
    const trying = (
      loss: (x: Value) => Value,
      data: readonly (readonly number[])[] = [
        [1, 2],
        [3, 4],
      ],
    ) => expect(() => compile(loss, { engine })(put(data, { engine })));
    trying((x) => mse(x, np.array([1, 2]))).toThrow(
      /the predictions are \[2, 2\] and the targets are \[2\] \[SHAPE_MISMATCH\]/,
    );
    trying((x) => crossEntropy(x, labels(0, 1, 1))).toThrow(/logits are \[2, 2\] and the labels are \[3\]/);
    trying((x) => crossEntropy(x, np.array([0, 1]))).toThrow(/the labels are f32\[2\] \[DTYPE_MISMATCH\]/);
    trying((x) => crossEntropy(x, labels(0, 1), { axis: 2 })).toThrow(/have no axis 2/);
    trying((x) => crossEntropy(x, labels(0, 1), { classWeights: np.array([1, 2, 3]) })).toThrow(
      /there are 2 classes/,
    );
    trying((x) => crossEntropy(x, labels(0, 1), { labelSmoothing: 2 })).toThrow(/labelSmoothing is 2/);
    trying((x) => crossEntropy(x, labels(0, 1), { labelSmooting: 0.1 } as never)).toThrow(
      /did you mean "labelSmoothing"/,
    );
    trying((x) => crossEntropy(x, labels(0, 1), { mask: np.array([1, 1, 1]) })).toThrow(
      /mask is \[3\] and the losses are \[2\]/,
    );
    trying((x) => mse(x, x, { reduction: "average" as never })).toThrow(/reduction is "average"/);
    trying((x) => huber(x, x, { delta: 0 })).toThrow(/delta is 0/);
    trying((x) => focal(x, x, { gamma: -1 })).toThrow(/gamma is -1/);
    trying((x) => focal(x, x, { alpha: 2 })).toThrow(/alpha is 2/);
    trying((x) => kl(x, x, { form: "logit" as never })).toThrow(/did you mean "logits"/);
    trying((x) => binaryCrossEntropy(x, np.array([1, 0]))).toThrow(
      /the logits are \[2, 2\] and the labels are \[2\]/,
    );
  });
});
