import { describe, expect, it } from "vitest";
import { testEngines } from "../run/engines.test-support.ts";
import type { Nested } from "../run/host.ts";
import { put } from "../run/put.ts";
import type { Value } from "../trace/value.ts";
import { grad } from "../transform/grad.ts";
import { vmap } from "../transform/vmap.ts";
import { difference, errorOf, evaluate } from "./evaluate.test-support.ts";
import * as np from "./index.ts";

/** Functions of one example: a matrix [3, 4], and indices [2] into it. */
const functions: Record<string, (m: Value, i: Value) => Value> = {
  arithmetic: (m) => np.floorDivide(np.add(m, 1), np.where(np.greater(m, 5), 3, -2)),
  trigonometry: (m) => np.asinh(np.cbrt(m)),
  statistics: (m) => np.divide(np.subtract(m, np.mean(m, { axis: 0 })), np.add(np.std(m, { axis: 0 }), 1)),
  logsumexp: (m) => np.logsumexp(m, { axis: -1, keepdims: true }),
  median: (m) => np.median(m, { axis: 0 }),
  take: (m, i) => np.take(m, i, { axis: 1 }),
  pairs: (m, i) => np.slice(m, i, np.slice(i, "::-1")),
  scalarIndex: (m, i) => np.slice(m, ":", np.slice(i, 0)),
  along: (m) => np.takeAlongAxis(m, np.argsort(m, { axis: 0 }), { axis: 0 }),
  set: (m, i) => np.at(m, i).set(np.slice(m, [0, 2])),
  addOne: (m, i) => np.at(m, [np.slice(i, 0), 1]).add(7),
  multiply: (m, i) => np.at(m, [":", i]).multiply(2),
  einsum: (m) => np.einsum("ij,kj->ki", m, np.multiply(m, 2)),
  matmul: (m) => np.matmul(np.transpose(m), m),
  shared: (m) => np.matmul(np.ones([2, 3]), m),
  topK: (m) => np.topK(m, 2)[0],
  cumsum: (m) => np.cumsum(m, { axis: 0, reverse: true }),
  roll: (m, i) => np.roll(m, np.slice(i, 0), { axis: 1 }),
  pad: (m) =>
    np.pad(
      m,
      [
        [1, 0],
        [0, 2],
      ],
      { mode: "reflect" },
    ),
  diagonal: (m) => np.diag(np.diag(m), { k: 1 }),
  oneHot: (_m, i) => np.oneHot(i, 4),
  gradient: (m, i) => grad((v: Value) => np.sum(np.square(np.at(v, i).get())))(m),
};

describe.each(testEngines())("mapped over examples on %s", (engine) => {
  it("every function does to each what it does to one", () => {
    const matrices = Array.from({ length: 2 }, (_, b) =>
      Array.from({ length: 3 }, (_, r) =>
        Array.from({ length: 4 }, (_, c) => ((b * 7 + r * 5 + c * 3) % 11) - 2),
      ),
    );
    const indices = [
      [0, 2],
      [1, 1],
    ];
    const all = (m: Value, i: Value) =>
      Object.fromEntries(Object.entries(functions).map(([name, f]) => [name, f(m, i)]));
    const integers = (data: number[] | number[][]) => put(data, { engine, dtype: "i32" });
    const mapped = evaluate(engine, (m, i) => vmap(all)(m as Value, i as Value), matrices, integers(indices));
    const faults = [0, 1].flatMap((b) => {
      const one = evaluate(engine, all, matrices[b] as number[][], integers(indices[b] as number[]));
      return Object.keys(functions).flatMap((name) => {
        const [many, single] = [mapped[name]?.value, one[name]?.value] as [Nested[], Nested];
        const fault = difference(many[b] as Nested, single, 1e-5);
        return fault ? [`${name}[${b}]${fault}`] : [];
      });
    });
    expect(faults).toEqual([]);
  });
});

it("vmap refuses a tree of axes for one argument", () => {
  const inAxes = [{ w: 0, b: null }] as unknown as readonly number[];
  const error = errorOf(
    (x) => vmap((p: { w: Value; b: Value }) => np.add(p.w, p.b), { inAxes })({ w: x, b: x }),
    [1, 2],
  );
  expect(error.code).toBe("VMAP_AXIS");
  expect(error.message).toContain('the axis of argument 0 in inAxes is {"w":0,"b":null}');
});
