import { describe, expect, it } from "vitest";
import { compile, np, put, scan, type Value } from "../index.ts";
import { installMethods } from "../np/methods.ts";
import { testEngines } from "../run/engines.test-support.ts";
import { programOf } from "../trace/program.ts";
import { tensorType } from "../trace/type.ts";
import { placeholder, withTrace } from "../trace/value.ts";
import { chooseFlags } from "./flags.ts";
import { writeModule } from "./writer.ts";

installMethods(); // these programs are traced by hand

type Body = (carry: Value, x: Value, weights: Value) => readonly [Value, Value];

/** The program of a loop over [steps, rows, size]. */
const looped = (body: Body, shape: readonly [number, number, number]) =>
  withTrace(
    () => undefined,
    ({ root }) => {
      const xs = placeholder(tensorType("f32", shape), root);
      const weights = placeholder(tensorType("f32", [shape[2], shape[2]]), root);
      const step = (carry: Value, x: Value) => body(carry, x, weights);
      const [carry, ys] = scan(step, np.zeros(shape.slice(1)), xs);
      return programOf([xs, weights], [carry, ys]);
    },
  );
const marks = (program: ReturnType<typeof looped>, smallLoops = true): number =>
  writeModule(program, { smallLoops }).split("xla_cpu_small_call").length - 1;

const plain: Body = (carry, x) => [np.tanh(carry.add(x)), carry];
const inside = (carry: Value, xs: Value) => scan((c: Value, x: Value) => [np.tanh(c.add(x)), c], carry, xs);
const product: Body = (carry, x, weights) => [np.tanh(np.matmul(carry, weights).add(x)), x];

describe("a loop is one kernel", () => {
  it.each([
    ["where its steps are small", plain, [3, 4, 8], 1],
    ["up to 1,024 elements", plain, [3, 16, 64], 1],
    ["not above", plain, [3, 17, 64], 0],
    ["with products", product, [3, 4, 64], 1],
    ["unless they are large", product, [3, 8, 64], 0],
    ["unless it sorts", (c, x) => [np.sort(c.add(x)), x], [3, 4, 8], 0],
    [
      "unless it picks",
      (c, x) => [np.take(c, np.argmax(x, { axis: 1 }).astype("i32"), { axis: 0 }).add(x), x],
      [3, 4, 8],
      0,
    ],
    ["unless it has a loop inside, which is one itself", (c, x) => inside(c, np.stack([x, x])), [3, 4, 8], 1],
    ["with one step inside", (c, x) => [inside(c, np.expandDims(x, 0))[0], x], [3, 4, 8], 1],
  ] as readonly [string, Body, readonly [number, number, number], number][])(
    "%s",
    (_, body, shape, count) => {
      expect(marks(looped(body, shape))).toBe(count);
      // Where the compiler has no such kernels.
      expect(marks(looped(body, shape), false)).toBe(0);
    },
  );

  it("whose order of kernels matters to nobody, so that large loops beside it decide", () => {
    const scheduled = (shape: readonly [number, number, number], body: Body = product) =>
      chooseFlags("cpu", looped(body, shape), false).xla_cpu_enable_concurrency_optimized_scheduler;
    expect(scheduled([3, 4, 64])).toBe(true);
    expect(scheduled([3, 128, 64])).toBe(true);
    expect(scheduled([3, 8, 64])).toBe(false);
  });
});

describe.each(testEngines())("small loops on %s", (engine) => {
  it("give the numbers of the same steps written out", async () => {
    const [steps, rows, size] = [5, 4, 8];
    const data = Float32Array.from({ length: steps * rows * size }, (_, i) => Math.sin(i));
    const weights = Float32Array.from({ length: size * size }, (_, i) => Math.cos(i) / 3);
    const body =
      (w: Value) =>
      (carry: Value, x: Value): readonly [Value, Value] => {
        const next = np.tanh(np.matmul(carry, w).add(x));
        return [next, np.sum(next, { axis: 1 })];
      };
    const loop = compile((xs: Value, w: Value) => scan(body(w), np.zeros([rows, size]), xs)[1], { engine });
    const written = compile(
      (xs: Value, w: Value) => {
        let carry = np.zeros([rows, size]);
        const ys = Array.from({ length: steps }, (_, i) => {
          const [next, y] = body(w)(carry, np.slice(xs, i));
          carry = next;
          return y;
        });
        return np.stack(ys);
      },
      { engine },
    );
    const given = [
      put(data, { engine, shape: [steps, rows, size] }),
      put(weights, { engine, shape: [size, size] }),
    ] as const;
    const [a, b] = [await loop(...given).read(), await written(...given).read()];
    const apart = Math.max(...Array.from(a, (x, i) => Math.abs(Number(x) - Number(b[i]))));
    expect(apart).toBeLessThan(1e-5);
    expect(new Set(a).size).toBe(steps * rows);
  });

  it.each([
    ["keep their carry", (c) => [c, null], [1, 2, 3], []],
    [
      "begin with numbers known beforehand",
      (_c, x) => [np.zeros([3]).add(x), np.ones([])],
      [5, 5, 5],
      [1, 1, 1, 1],
    ],
    ["do not look at what they go through", (c) => [c.mul(2), c.sum()], [16, 32, 48], [6, 12, 24, 48]],
    ["count", (c, _x, i) => [c.add(i), i], [7, 8, 9], [0, 1, 2, 3]],
    ["give constants", (c) => [c, np.full([], 4)], [1, 2, 3], [4, 4, 4, 4]],
  ] as readonly [
    string,
    (c: Value, x: Value, i: Value) => readonly [Value, Value | null],
    number[],
    number[],
  ][])("that %s work", async (_, body, carry, ys) => {
    const run = compile((start: Value, xs: Value) => scan(body, start, xs), { engine });
    const counted = compile(
      (start: Value, xs: Value, n: Value) => scan(body, start, xs, { length: np.slice(n, 0) }),
      { engine },
    );
    const given = [
      put(Float32Array.of(1, 2, 3), { engine }),
      put(Float32Array.of(2, 3, 4, 5), { engine }),
    ] as const;
    for (const [last, stack] of [run(...given), counted(...given, put(Int32Array.of(4), { engine }))]) {
      expect([...(await last.read())]).toEqual(carry);
      expect(stack ? [...(await stack.read())] : []).toEqual(ys);
    }
  });

  it("whose results nobody needs, and that start with a scalar of the program, work", async () => {
    const run = compile(
      (xs: Value) => {
        const [sum] = scan((c: Value, x: Value) => [c.add(x), c.mul(x)], np.zeros([]), xs);
        const [, stack] = scan((c: Value, x: Value) => [c.add(x), c], np.ones([]), xs);
        return { sum, stack };
      },
      { engine },
    );
    const { sum, stack } = run(put(Float32Array.of(2, 3, 4, 5), { engine }));
    expect([...(await sum.read())]).toEqual([14]);
    expect([...(await stack.read())]).toEqual([1, 3, 6, 10]);
  });

  it("of one step are that step, stacked", async () => {
    const one = compile(
      (x: Value) => scan((c: Value, y: Value, i: Value) => [c.add(y), c.mul(2).add(i)], x, np.stack([x])),
      {
        engine,
      },
    );
    const [carry, ys] = one(put(Float32Array.of(1, 2, 3), { engine }));
    expect([...(await carry.read())]).toEqual([2, 4, 6]);
    expect(ys.shape).toEqual([1, 3]);
    expect([...(await ys.read())]).toEqual([2, 4, 6]);
  });
});
