import { describe, expect, it } from "vitest";
import { splat } from "../ops/constant.ts";
import { add, less, mul, sin, sub, tanh } from "../ops/elementwise.ts";
import { reduceSum } from "../ops/reduce.ts";
import { compile } from "../run/compile.ts";
import { testEngines } from "../run/engines.test-support.ts";
import { put } from "../run/put.ts";
import type { Value } from "../trace/value.ts";
import { grad } from "./grad.ts";
import { scan, whileLoop } from "./loops.ts";
import { vmap } from "./vmap.ts";

const one = () => splat(1, "f32");

describe.each(testEngines())("scan on %s", (engine) => {
  const options = { engine } as const;
  const vector = (...numbers: number[]) => put(Float32Array.from(numbers), options);

  it("carries a value through the slices and stacks the results", async () => {
    const sums = compile(
      (xs: Value) => scan((sum: Value, x: Value) => [add(sum, x), sum], splat(0, "f32"), xs),
      options,
    );
    const [total, before] = sums(vector(1, 2, 3, 4));
    expect(await total.item()).toBe(10);
    expect([...(await before.read())]).toEqual([0, 1, 3, 6]);
  });

  it("goes backwards with reverse, results keeping their places", async () => {
    const sums = compile(
      (xs: Value) =>
        scan((sum: Value, x: Value) => [add(sum, x), sum], splat(0, "f32"), xs, { reverse: true }),
      options,
    );
    const [, after] = sums(vector(1, 2, 3, 4));
    expect([...(await after.read())]).toEqual([9, 7, 4, 0]);
  });

  it("runs one program for every run-time length, with the bits of that many single steps", async () => {
    const step = (x: Value): Value => sin(mul(add(x, splat(0.1, "f32")), splat(1.7, "f32")));
    const loop = compile(
      (x: Value, n: Value) => scan((carry: Value) => [step(carry), null], x, undefined, { length: n })[0],
      options,
    );
    const count = (n: number) => put(Int32Array.of(n), { ...options, shape: [] });
    const whole = await loop(put(0.3, options), count(7)).item();
    let x = put(0.3, options);
    for (let i = 0; i < 7; i++) x = loop(x, count(1));
    expect(await x.item()).toBe(whole);
    expect(await loop(put(0.3, options), count(0)).item()).toBe(Math.fround(0.3));
    expect(loop.programs).toBe(1);
  });

  it("has a gradient by carry, slices and what the body captures", async () => {
    // y = ((a w + x0) w + x1) w + x2
    const loss = (a: Value, w: Value, xs: Value) =>
      scan((carry: Value, x: Value) => [add(mul(carry, w), x), null], a, xs)[0];
    const grads = compile(
      (a: Value, w: Value, xs: Value) => grad(loss, { argnums: [0, 1, 2] })(a, w, xs),
      options,
    );
    const [da, dw, dxs] = grads(2, 3, vector(1, 4, 5));
    expect(await da.item()).toBeCloseTo(27, 4);
    expect(await dw.item()).toBeCloseTo(3 * 2 * 9 + 2 * 1 * 3 + 4, 4);
    expect([...(await dxs.read())]).toEqual([9, 3, 1]);
  });

  it("has a gradient through stacked results, nested scans and second derivatives", async () => {
    const inner = (w: Value, x: Value) =>
      scan((c: Value) => [tanh(add(mul(c, w), x)), null], splat(0.5, "f32"), undefined, { length: 3 })[0];
    const loss = (w: Value, xs: Value) => {
      const [, ys] = scan((c: Value, x: Value) => [inner(w, add(c, x)), mul(c, c)], splat(0.1, "f32"), xs);
      return reduceSum(ys, [0]);
    };
    const unrolledInner = (w: Value, x: Value) => {
      let c = splat(0.5, "f32");
      for (let i = 0; i < 3; i++) c = tanh(add(mul(c, w), x));
      return c;
    };
    const at = [0.2, -0.3, 0.4, 0.1];
    const unrolled = (w: Value, shift: Value) => {
      let c = splat(0.1, "f32");
      let sum = splat(0, "f32");
      for (const x of at) {
        sum = add(sum, mul(c, c));
        c = unrolledInner(w, add(c, add(splat(x, "f32"), shift)));
      }
      return sum;
    };
    const both = compile(
      (w: Value, xs: Value) => ({
        first: grad(loss)(w, xs),
        firstUnrolled: grad(unrolled)(w, splat(0, "f32")),
        second: grad((v: Value) => grad(loss)(v, xs))(w),
        secondUnrolled: grad((v: Value) => grad(unrolled)(v, splat(0, "f32")))(w),
      }),
      options,
    );
    const result = both(0.8, vector(...at));
    expect(await result.first.item()).toBeCloseTo(await result.firstUnrolled.item(), 5);
    expect(await result.second.item()).toBeCloseTo(await result.secondUnrolled.item(), 4);
  });

  it("keeps whole numbers in the carry without a derivative", async () => {
    const loss = (x: Value) =>
      scan(
        (c: { readonly n: Value; readonly v: Value }) => [
          { n: add(c.n, splat(1, "i32")), v: mul(c.v, x) },
          null,
        ],
        { n: splat(0, "i32"), v: one() },
        undefined,
        { length: 3 },
      )[0].v;
    const slope = compile((x: Value) => grad(loss)(x), options);
    expect(await slope(2).item()).toBeCloseTo(12, 5);
  });

  it("maps over examples, carries that come to differ included", async () => {
    const f = (x: Value, xs: Value) => scan((c: Value, v: Value) => [add(mul(c, x), v), c], one(), xs);
    const mapped = compile((x: Value, xs: Value) => vmap(f, { inAxes: [0, null] })(x, xs), options);
    const [last, all] = mapped(vector(1, 2, 3), vector(1, 1));
    expect([...(await last.read())]).toEqual([3, 7, 13]);
    expect(all.shape).toEqual([3, 2]);
    expect([...(await all.read())]).toEqual([1, 2, 1, 3, 1, 4]);
  });
});

describe.each(testEngines())("whileLoop on %s", (engine) => {
  const options = { engine } as const;

  it("repeats while the condition holds", async () => {
    const doubled = compile(
      (x: Value, limit: Value) =>
        whileLoop(
          (v: Value) => less(v, limit),
          (v) => add(v, v),
          x,
        ),
      options,
    );
    expect(await doubled(3, 100).item()).toBe(192);
  });

  it("maps over examples that end at different times", async () => {
    const f = (x: Value) =>
      whileLoop(
        (v: Value) => less(v, splat(100, "f32")),
        (v) => add(v, v),
        x,
      );
    const mapped = compile((xs: Value) => vmap(f)(xs), options);
    expect([...(await mapped(Float32Array.of(1, 3, 200)).read())]).toEqual([128, 192, 200]);
  });

  it("says that it has no gradient and what to use instead", () => {
    const f = (x: Value) =>
      whileLoop(
        (v: Value) => less(v, splat(9, "f32")),
        (v) => sub(add(v, v), splat(0, "f32")),
        x,
      );
    expect(() => compile((x: Value) => grad(f)(x), options)(1)).toThrow(/whileLoop has no derivative.*scan/s);
  });
});
