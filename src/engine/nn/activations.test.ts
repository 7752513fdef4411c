import { describe, expect, it } from "vitest";
import type { ValueLike } from "../np/operands.ts";
import { reduceSum } from "../ops/reduce.ts";
import { compile } from "../run/compile.ts";
import { testEngines } from "../run/engines.test-support.ts";
import { put, read } from "../run/put.ts";
import type { Value } from "../trace/value.ts";
import { grad } from "../transform/grad.ts";
import * as nn from "./index.ts";

interface Row {
  readonly fn: (x: ValueLike) => Value;
  /** At -4, -1.3, -0.2, 0, 0.4, 2.1, 5. */
  readonly y: readonly number[];
  readonly slope: readonly number[];
  /** The second derivative, for functions that are smooth at 0. */
  readonly bend?: readonly number[];
  /** The value and the slope at -inf, -1e30, -1e4, 1e4, 1e30, inf. */
  readonly far: readonly number[];
  readonly farSlope: readonly number[];
}

const inf = Number.POSITIVE_INFINITY;
const rising = [0, 0, 0, 1e4, 1e30, inf];
const off = [0, 0, 0, 0, 0, 0];
const on = [0, 0, 0, 1, 1, 1];

/** Numbers from jax 0.10.2; at infinities, where JAX gives NaN for some of them, the limits. */
const rows: Readonly<Record<string, Row>> = {
  relu: {
    fn: nn.relu,
    y: [0, 0, 0, 0, 0.4, 2.1, 5],
    slope: [0, 0, 0, 0, 1, 1, 1],
    far: rising,
    farSlope: on,
  },
  relu6: {
    fn: nn.relu6,
    y: [0, 0, 0, 0, 0.4, 2.1, 5],
    slope: [0, 0, 0, 0, 1, 1, 1],
    far: [0, 0, 0, 6, 6, 6],
    farSlope: off,
  },
  leakyRelu: {
    fn: (x) => nn.leakyRelu(x),
    y: [-0.04, -0.013, -0.002, 0, 0.4, 2.1, 5],
    slope: [0.01, 0.01, 0.01, 1, 1, 1, 1],
    far: [-inf, -1e28, -100, 1e4, 1e30, inf],
    farSlope: [0.01, 0.01, 0.01, 1, 1, 1],
  },
  elu: {
    fn: (x) => nn.elu(x, { alpha: 0.7 }),
    y: [-0.687179, -0.509228, -0.126888, 0, 0.4, 2.1, 5],
    slope: [0.0128209, 0.190772, 0.573112, 0.7, 1, 1, 1],
    far: [-0.7, -0.7, -0.7, 1e4, 1e30, inf],
    farSlope: on,
  },
  celu: {
    fn: (x) => nn.celu(x, { alpha: 0.7 }),
    y: [-0.697691, -0.590717, -0.173966, 0, 0.4, 2.1, 5],
    slope: [0.00329852, 0.156118, 0.751477, 1, 1, 1, 1],
    far: [-0.7, -0.7, -0.7, 1e4, 1e30, inf],
    farSlope: on,
  },
  selu: {
    fn: nn.selu,
    y: [-1.7259, -1.27896, -0.318689, 0, 0.42028, 2.20647, 5.25351],
    slope: [0.0322007, 0.479138, 1.43941, 1.7581, 1.0507, 1.0507, 1.0507],
    far: [-1.7581, -1.7581, -1.7581, 10507.01, 1.050701e30, inf],
    farSlope: [0, 0, 0, 1.0507, 1.0507, 1.0507],
  },
  hardTanh: {
    fn: nn.hardTanh,
    y: [-1, -1, -0.2, 0, 0.4, 1, 1],
    slope: [0, 0, 1, 1, 1, 0, 0],
    far: [-1, -1, -1, 1, 1, 1],
    farSlope: off,
  },
  hardSigmoid: {
    fn: nn.hardSigmoid,
    y: [0, 0.283333, 0.466667, 0.5, 0.566667, 0.85, 1],
    slope: [0, 0.166667, 0.166667, 0.166667, 0.166667, 0.166667, 0],
    far: on,
    farSlope: off,
  },
  hardSwish: {
    fn: nn.hardSwish,
    y: [0, -0.368333, -0.0933333, 0, 0.226667, 1.785, 5],
    slope: [0, 0.0666667, 0.433333, 0.5, 0.633333, 1.2, 1],
    far: rising,
    farSlope: on,
  },
  sigmoid: {
    fn: nn.sigmoid,
    y: [0.0179862, 0.214165, 0.450166, 0.5, 0.598688, 0.890903, 0.993307],
    slope: [0.0176627, 0.168298, 0.247517, 0.25, 0.240261, 0.0971947, 0.00664803],
    bend: [0.0170273, 0.0962111, 0.0246695, 0, -0.0474215, -0.0759874, -0.00655904],
    far: on,
    farSlope: off,
  },
  tanh: {
    fn: nn.tanh,
    y: [-0.999329, -0.861723, -0.197375, 0, 0.379949, 0.970452, 0.999909],
    slope: [0.0013411, 0.257433, 0.961043, 1, 0.855639, 0.0582229, 0.000181667],
    bend: [0.00268054, 0.443672, 0.379372, 0, -0.650198, -0.113005, -0.0003633],
    far: [-1, -1, -1, 1, 1, 1],
    farSlope: off,
  },
  softplus: {
    fn: nn.softplus,
    y: [0.0181499, 0.241008, 0.598139, Math.LN2, 0.913015, 2.21552, 5.00672],
    slope: [0.0179862, 0.214165, 0.450166, 0.5, 0.598688, 0.890903, 0.993307],
    bend: [0.0176627, 0.168298, 0.247517, 0.25, 0.240261, 0.0971947, 0.00664803],
    far: rising,
    farSlope: on,
  },
  logSigmoid: {
    fn: nn.logSigmoid,
    y: [-4.01815, -1.54101, -0.798139, -Math.LN2, -0.513015, -0.11552, -0.00671535],
    slope: [0.982014, 0.785835, 0.549834, 0.5, 0.401312, 0.109097, 0.00669285],
    bend: [-0.0176626, -0.168298, -0.247517, -0.25, -0.240261, -0.0971947, -0.00664806],
    far: [-inf, -1e30, -1e4, 0, 0, 0],
    farSlope: [1, 1, 1, 0, 0, 0],
  },
  softsign: {
    fn: nn.softsign,
    y: [-0.8, -0.565217, -0.166667, 0, 0.285714, 0.677419, 0.833333],
    slope: [0.04, 0.189036, 0.694444, 1, 0.510204, 0.104058, 0.0277778],
    far: [-1, -1, -0.9999, 0.9999, 1, 1],
    farSlope: off,
  },
  silu: {
    fn: nn.silu,
    y: [-0.0719448, -0.278415, -0.0900332, 0, 0.239475, 1.8709, 4.96654],
    slope: [-0.0526646, -0.00462283, 0.400663, 0.5, 0.694792, 1.09501, 1.02655],
    bend: [-0.0327839, 0.211522, 0.490099, 0.5, 0.461553, 0.0348158, -0.0194992],
    far: rising,
    farSlope: on,
  },
  mish: {
    fn: nn.mish,
    y: [-0.0725917, -0.307382, -0.107145, 0, 0.289031, 2.0506, 4.99955],
    slope: [-0.0537732, -0.026401, 0.47153, 0.6, 0.837018, 1.06346, 1.0008],
    bend: [-0.03462, 0.224448, 0.637603, 0.64, 0.519118, -0.0590136, -0.00140476],
    far: rising,
    farSlope: on,
  },
  gelu: {
    fn: (x) => nn.gelu(x),
    y: [-7.00951e-5, -0.126071, -0.0841486, 0, 0.262161, 2.06267, 5],
    slope: [-0.00033441, -0.125878, 0.342542, 0.5, 0.802659, 1.07535, 1],
    bend: [-0.00147265, 0.0545815, 0.766297, 0.797885, 0.677148, -0.106456, 0],
    far: rising,
    farSlope: on,
  },
  "gelu by erf": {
    fn: (x) => nn.gelu(x, { approximate: false }),
    y: [-0.000126685, -0.125841, -0.0841481, 0, 0.262169, 2.06248, 5],
    slope: [-0.00050365, -0.125979, 0.342532, 0.5, 0.80273, 1.0745, 1.00001],
    bend: [-0.00187362, 0.0531243, 0.766444, 0.797885, 0.677617, -0.106, -3.41945e-5],
    far: rising,
    farSlope: on,
  },
};

/** To 1e-5, relative above 1. */
function close(actual: ArrayLike<number> | undefined, expected: readonly number[]): void {
  expect(actual).toHaveLength(expected.length);
  expected.forEach((wanted, i) => {
    const got = actual?.[i] as number;
    if (!Number.isFinite(wanted)) expect(got).toBe(wanted);
    else
      expect(Math.abs(got - wanted) / Math.max(1, Math.abs(wanted)), `${got} for ${wanted}`).toBeLessThan(
        1e-5,
      );
  });
}

const total = (fn: (x: Value) => Value) => (x: Value) => reduceSum(fn(x), [0]);

describe.each(testEngines())("activations on %s", (engine) => {
  it.each(Object.entries(rows))(
    "%s has JAX's values and derivatives, and limits far out",
    async (_name, row) => {
      const run = compile(
        (x: Value, far: Value) => {
          const slope = grad(total(row.fn));
          return [row.fn(x), slope(x), grad(total(slope))(x), row.fn(far), slope(far)];
        },
        { engine },
      );
      const results = await read(
        run(
          put([-4, -1.3, -0.2, 0, 0.4, 2.1, 5], { engine }),
          put([-inf, -1e30, -1e4, 1e4, 1e30, inf], { engine }),
        ),
      );
      close(results[0], row.y);
      close(results[1], row.slope);
      if (row.bend) close(results[2], row.bend);
      close(results[3], row.far);
      close(results[4], row.farSlope);
    },
  );

  it("passes on NaN and converts integers", async () => {
    const fns = Object.values(rows).map((row) => row.fn);
    const run = compile((x: Value, whole: Value) => [fns.map((fn) => fn(x)), fns.map((fn) => fn(whole))], {
      engine,
    });
    const [nans, floats] = run(put([Number.NaN], { engine }), put(Int32Array.of(2), { engine }));
    expect((await read(nans ?? [])).map((y) => y[0])).toEqual(fns.map(() => Number.NaN));
    expect(floats?.map((y) => y.dtype)).toEqual(fns.map(() => "f32"));
  });

  it("halves an axis by glu", async () => {
    const run = compile((x: Value) => [nn.glu(x), nn.glu(x, { axis: 0 })], { engine });
    const [last, first] = await read(
      run(
        put(
          [
            [1, 2, 3, -4],
            [0, 0, 0, 0],
          ],
          { engine },
        ),
      ),
    );
    // jax.nn.glu
    close(last, [0.95257413, 0.03597242, 0, 0]);
    close(first, [0.5, 1, 1.5, -2]);
  });
});

it("glu refuses what has no halves", () => {
  const run = compile((x: Value) => nn.glu(x), { engine: "wasm" });
  expect(() => run(put([1, 2, 3], { engine: "wasm" }))).toThrow(
    /axis 0 of \[3\] has length 3, which has no halves/,
  );
});
