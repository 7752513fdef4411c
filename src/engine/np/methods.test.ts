import { describe, expect, it } from "vitest";
import { testEngines } from "../run/engines.test-support.ts";
import type { Value } from "../trace/value.ts";
import { errorOf, evaluate, expectAll } from "./evaluate.test-support.ts";
import * as np from "./index.ts";

const x = [
  [1, -2, 3],
  [4, 5, -6],
];

/** Each method beside the function it stands for. */
const twins: Record<string, readonly [(v: Value) => Value, (v: Value) => Value]> = {
  add: [(v) => v.add(1), (v) => np.add(v, 1)],
  sub: [(v) => v.sub(1), (v) => np.subtract(v, 1)],
  mul: [(v) => v.mul(v), (v) => np.multiply(v, v)],
  div: [(v) => v.div(2), (v) => np.divide(v, 2)],
  pow: [(v) => v.pow(3), (v) => np.power(v, 3)],
  neg: [(v) => v.neg(), (v) => np.negative(v)],
  matmul: [(v) => v.matmul(v.T), (v) => np.matmul(v, np.transpose(v))],
  mm: [(v) => v.mm(v.T), (v) => np.matmul(v, np.transpose(v))],
  dot: [(v) => v.dot(v.slice(0)), (v) => np.dot(v, np.slice(v, 0))],
  sum: [(v) => v.sum({ axis: 0 }), (v) => np.sum(v, { axis: 0 })],
  mean: [(v) => v.mean(), (v) => np.mean(v)],
  prod: [(v) => v.prod({ axis: 1 }), (v) => np.prod(v, { axis: 1 })],
  max: [(v) => v.max({ axis: 1, keepdims: true }), (v) => np.max(v, { axis: 1, keepdims: true })],
  min: [(v) => v.min(), (v) => np.min(v)],
  var: [(v) => v.var({ ddof: 1 }), (v) => np.var(v, { ddof: 1 })],
  std: [(v) => v.std({ axis: 0 }), (v) => np.std(v, { axis: 0 })],
  argmax: [(v) => v.argmax({ axis: 1 }), (v) => np.argmax(v, { axis: 1 })],
  argmin: [(v) => v.argmin(), (v) => np.argmin(v)],
  reshape: [(v) => v.reshape(3, -1), (v) => np.reshape(v, [3, 2])],
  reshapeList: [(v) => v.reshape([6]), (v) => np.reshape(v, 6)],
  reshapeNone: [(v) => v.sum().reshape(), (v) => np.sum(v)],
  transpose: [(v) => v.transpose(), (v) => np.transpose(v)],
  transposeAxes: [(v) => v.transpose(1, 0), (v) => np.transpose(v, [1, 0])],
  T: [(v) => v.T, (v) => np.transpose(v)],
  ravel: [(v) => v.ravel(), (v) => np.ravel(v)],
  flatten: [(v) => v.flatten(), (v) => np.ravel(v)],
  squeeze: [(v) => v.expandDims(0).squeeze({ axis: 0 }), (v) => v],
  expandDims: [(v) => v.expandDims(-1), (v) => np.expandDims(v, -1)],
  astype: [(v) => v.astype("i32"), (v) => np.astype(v, "i32")],
  exp: [(v) => v.exp(), (v) => np.exp(v)],
  log: [(v) => v.log(), (v) => np.log(v)],
  sqrt: [(v) => v.sqrt(), (v) => np.sqrt(v)],
  square: [(v) => v.square(), (v) => np.square(v)],
  abs: [(v) => v.abs(), (v) => np.abs(v)],
  tanh: [(v) => v.tanh(), (v) => np.tanh(v)],
  sin: [(v) => v.sin(), (v) => np.sin(v)],
  cos: [(v) => v.cos(), (v) => np.cos(v)],
  clip: [(v) => v.clip(0, 3), (v) => np.clip(v, 0, 3)],
  greater: [(v) => v.greater(0), (v) => np.greater(v, 0)],
  greaterEqual: [(v) => v.greaterEqual(4), (v) => np.greaterEqual(v, 4)],
  less: [(v) => v.less(4), (v) => np.less(v, 4)],
  lessEqual: [(v) => v.lessEqual(4), (v) => np.lessEqual(v, 4)],
  equal: [(v) => v.equal(4), (v) => np.equal(v, 4)],
  notEqual: [(v) => v.notEqual(4), (v) => np.notEqual(v, 4)],
  slice: [(v) => v.slice(":", 1), (v) => np.slice(v, ":", 1)],
  at: [(v) => v.at([0, 1]).set(9), (v) => np.at(v, [0, 1]).set(9)],
  take: [(v) => v.take([1, 0], { axis: 0 }), (v) => np.take(v, [1, 0], { axis: 0 })],
};

describe.each(testEngines())("methods on %s", (engine) => {
  it("are the functions of np", () => {
    const pick = (which: 0 | 1) => (v: Value) =>
      Object.fromEntries(Object.entries(twins).map(([name, pair]) => [name, pair[which](v)]));
    const functions = evaluate(engine, pick(1), x);
    expectAll(
      evaluate(engine, pick(0), x),
      Object.fromEntries(
        Object.entries(functions).map(([name, { type, value }]) => [name, [type, value] as const]),
      ),
    );
  });
});

describe("methods", () => {
  it("are tested one and all", () => {
    const names = evaluate(
      "wasm",
      (v) => {
        const own = Object.getOwnPropertyNames(Object.getPrototypeOf(v));
        return {
          count: np.full(
            [],
            own.filter(
              (name) => !["constructor", "shape", "dtype", "ndim", "size", "toString"].includes(name),
            ).length,
          ),
        };
      },
      x,
    );
    const tested = Object.keys(twins).filter(
      (name) => !["reshapeList", "reshapeNone", "transposeAxes"].includes(name),
    );
    expect(names.count.value).toBe(tested.length);
  });

  it("point errors at the user's line, with the name of the function", () => {
    const error = errorOf((v) => v.sub(np.ones([2])), [1, 2, 3]);
    expect(error.message).toContain("subtract: shapes [3] and [2] do not broadcast");
    expect(error.at).toContain("methods.test.ts");
  });
});
