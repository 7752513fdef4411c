import { describe, expect, it } from "vitest";
import { literalArray } from "../ops/constant.ts";
import { mul } from "../ops/elementwise.ts";
import { reduceSum } from "../ops/reduce.ts";
import { compile } from "../run/compile.ts";
import { testEngines } from "../run/engines.test-support.ts";
import { put, read } from "../run/put.ts";
import type { Value } from "../trace/value.ts";
import { grad } from "../transform/grad.ts";
import { logSoftmax, type SoftmaxOptions, softmax } from "./softmax.ts";

const inf = Number.POSITIVE_INFINITY;
const weights = [1, -2, 0.5, 2, 0.3, -1];

function close(actual: ArrayLike<number> | undefined, expected: readonly number[]): void {
  expect(actual).toHaveLength(expected.length);
  expected.forEach((wanted, i) => {
    if (Number.isFinite(wanted)) expect(actual?.[i]).toBeCloseTo(wanted, 5);
    else expect(actual?.[i]).toBe(wanted);
  });
}

describe.each(testEngines())("softmax on %s", (engine) => {
  const both = async (fn: typeof softmax, x: number[][], mask?: boolean[][], skip?: number) => {
    const run = compile(
      (v: Value, where?: Value) => {
        const options: SoftmaxOptions = where ? { where } : {};
        const loss = (u: Value) => {
          const cs = weights.map((c, i) => (i === skip ? 0 : c));
          const y = fn(u, options);
          return reduceSum(mul(y, literalArray(cs, "f32", y.shape)), [0, 1]);
        };
        return [fn(v, options), grad(loss)(v)];
      },
      { engine },
    );
    return read(run(put(x, { engine }), ...(mask ? [put(mask, { engine })] : [])));
  };
  const x = [
    [1, 2, -1],
    [0, -inf, 3],
  ];

  // Numbers here and below from jax.nn.softmax and log_softmax of jax 0.10.2.
  it("gives JAX's probabilities and gradients, with minus infinity for what cannot be", async () => {
    const [y, slope] = await both(softmax, x);
    close(y, [0.259496, 0.705385, 0.035119, 0.0474259, 0, 0.952574]);
    close(slope, [0.553691, -0.611065, 0.0573744, 0.13553, 0, -0.13553]);
  });

  it("gives JAX's log probabilities", async () => {
    const [y] = await both(logSoftmax, x);
    close(y, [-1.34901, -0.349012, -3.34901, -3.04859, -inf, -0.0485873]);
    const [, slope] = await both(
      logSoftmax,
      [
        [1, 2, -1],
        [0, -1e30, 3],
      ],
      undefined,
      4,
    );
    close(slope, [1.12975, -1.64731, 0.51756, 1.95257, 0, -1.95257]);
  });

  it("counts only what the mask allows, and gives zeros where that is nothing", async () => {
    const masked = [
      [1, 50, -1],
      [0, 0.5, 3],
    ];
    const [y, slope] = await both(softmax, masked, [
      [true, false, true],
      [true, true, true],
    ]);
    close(y, [0.880797, 0, 0.119203, 0.0439865, 0.0725214, 0.883492]);
    close(slope, [0.0524968, 0, -0.0524968, 0.122008, 0.0778708, -0.199879]);
    const none = [
      [false, false, false],
      [false, true, false],
    ];
    const [nothing, flat] = await both(softmax, masked, none);
    close(nothing, [0, 0, 0, 0, 1, 0]);
    close(flat, [0, 0, 0, 0, 0, 0]);
    const [logs] = await both(logSoftmax, masked, none);
    close(logs, [-inf, -inf, -inf, -inf, 0, -inf]);
  });

  it("neither overflows nor loses digits far out", async () => {
    const [y, slope] = await both(softmax, [
      [1e4, -1e4, 9999],
      [3e38, 0, -3e38],
    ]);
    close(y, [0.731059, 0, 0.268941, 1, 0, 0]);
    close(slope, [0.098306, 0, -0.098306, 0, 0, 0]);
    const [logs] = await both(logSoftmax, [
      [1e4, -1e4, 9999],
      [0, 0, -200],
    ]);
    close(logs, [-0.313262, -20000.3125, -1.313262, -Math.LN2, -Math.LN2, -200.693147]);
  });

  it("goes along any axis, or several", async () => {
    const run = compile((v: Value) => [softmax(v, { axis: 0 }), softmax(v, { axis: [0, 1] })], { engine });
    const [first, all] = await read(
      run(
        put(
          [
            [1, 2],
            [3, 4],
          ],
          { engine },
        ),
      ),
    );
    close(first, [0.119203, 0.119203, 0.880797, 0.880797]);
    close(all, [0.0320586, 0.0871443, 0.236883, 0.643914]);
  });
});

it("refuses unknown options and masks that are not booleans", () => {
  const run = (options: object) =>
    compile((x: Value) => softmax(x, options), { engine: "wasm" })(put([1, 2], { engine: "wasm" }));
  expect(() => run({ axes: 0 })).toThrow(/did you mean "axis"\?/);
  expect(() => run({ where: 1 })).toThrow(/where is f32\[\], but softmax takes booleans/);
});
