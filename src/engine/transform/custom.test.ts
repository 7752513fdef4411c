import { describe, expect, it } from "vitest";
import { splat } from "../ops/constant.ts";
import { add, exp, min, mul, sin, tanh } from "../ops/elementwise.ts";
import { reduceSum } from "../ops/reduce.ts";
import { compile } from "../run/compile.ts";
import { testEngines } from "../run/engines.test-support.ts";
import type { Value } from "../trace/value.ts";
import { customGradient, remat, stopGradient } from "./custom.ts";
import { grad, valueAndGrad, vjp } from "./grad.ts";
import { scan } from "./loops.ts";
import { vmap } from "./vmap.ts";

const number = (x: number) => splat(x, "f32");

describe.each(testEngines())("derivatives on %s", (engine) => {
  const options = { engine } as const;

  it("gives value, extras and gradient of a tree of parameters", async () => {
    const f = compile(
      (params: { readonly w: Value; readonly b: Value }, x: Value) =>
        valueAndGrad((p: { readonly w: Value; readonly b: Value }) => {
          const y = add(mul(p.w, x), p.b);
          return [mul(y, y), { y }] as const;
        })(params),
      options,
    );
    const [[loss, { y }], grads] = f({ w: 2, b: 1 }, 3);
    expect([await loss.item(), await y.item(), await grads.w.item(), await grads.b.item()]).toEqual([
      49, 7, 42, 14,
    ]);
  });

  it("treats other uses of a value as constants", async () => {
    const f = compile((x: Value) => grad((v: Value) => mul(v, x))(x), options);
    expect(await f(5).item()).toBe(5);
  });

  it("gives zeros for what the result does not depend on", async () => {
    const f = compile(
      (x: Value, y: Value) => grad((a: Value, _b: Value) => mul(a, a), { argnums: [0, 1] })(x, y),
      options,
    );
    const [dx, dy] = f(3, 4);
    expect([await dx.item(), await dy.item()]).toEqual([6, 0]);
  });

  it("goes back from any cotangent with vjp", async () => {
    const f = compile((x: Value, ct: Value) => vjp((v: Value) => sin(v), x)[1](ct)[0], options);
    expect(await f(0.5, 2).item()).toBeCloseTo(2 * Math.cos(0.5), 6);
  });

  it("stops at stopGradient", async () => {
    const f = compile((x: Value) => grad((v: Value) => mul(v, stopGradient(mul(v, v))))(x), options);
    expect(await f(3).item()).toBe(9);
  });

  it("computes again under remat, with the same derivative and fewer things kept", async () => {
    const block = (w: Value, x: Value) => tanh(mul(sin(mul(w, x)), w));
    const plain = (w: Value, x: Value) => mul(block(w, x), block(w, x));
    const again = (w: Value, x: Value) => mul(remat(block)(w, x), remat(block)(w, x));
    const f = compile(
      (w: Value, x: Value) =>
        [grad(plain)(w, x), grad(again)(w, x), grad(grad(again))(w, x), grad(grad(plain))(w, x)] as const,
      options,
    );
    const [a, b, c, d] = f(0.7, 1.3);
    expect(await a.item()).toBeCloseTo(await b.item(), 6);
    expect(await c.item()).toBeCloseTo(await d.item(), 5);
    const text = compile((w: Value, x: Value) => grad(again)(w, x), options).lower(0.7, 1.3);
    expect(text).toMatch(/barrier/);
  });

  it("uses the user's rule in place of the derivative, also under vmap and in a loop", async () => {
    const capped = customGradient(
      (x: Value) => exp(x),
      (_args, y, ct) => [mul(ct, min(y, number(2)))],
    );
    const f = compile((x: Value) => grad(capped)(x), options);
    expect(await f(5).item()).toBe(2);
    expect(await f(0).item()).toBe(1);
    const mapped = compile((xs: Value) => vmap((x: Value) => grad(capped)(x))(xs), options);
    expect([...(await mapped(Float32Array.of(0, 5)).read())]).toEqual([1, 2]);
    const overMap = compile((xs: Value) => grad((v: Value) => reduceSum(vmap(capped)(v), [0]))(xs), options);
    expect([...(await overMap(Float32Array.of(0, 5)).read())]).toEqual([1, 2]);
    const loop = compile(
      (xs: Value) =>
        grad((v: Value) => scan((c: Value, x: Value) => [add(c, capped(x)), null], number(0), v)[0])(xs),
      options,
    );
    expect([...(await loop(Float32Array.of(0, 5)).read())]).toEqual([1, 2]);
  });

  it("refuses to differentiate what is not one floating-point number", () => {
    const f = compile((x: Value) => grad((v: Value) => v)(x), options);
    expect(() => f(Float32Array.of(1, 2))).toThrow(/LOSS_NOT_SCALAR/);
    const g = compile((x: Value) => grad((v: Value) => v)(x), options);
    expect(() => g(Int32Array.of(1))).toThrow(/NOT_DIFFERENTIABLE.*argnums/s);
  });
});
