import { describe, expect, it } from "vitest";
import { splat } from "../ops/constant.ts";
import { add, exp, greater, less, mul, sin } from "../ops/elementwise.ts";
import { compile } from "../run/compile.ts";
import { testEngines } from "../run/engines.test-support.ts";
import { put } from "../run/put.ts";
import type { Value } from "../trace/value.ts";
import { cond, switchBranch } from "./branches.ts";
import { grad } from "./grad.ts";
import { scan } from "./loops.ts";
import { vmap } from "./vmap.ts";

const number = (x: number) => splat(x, "f32");
const choose = (x: Value) =>
  cond(
    greater(x, number(0)),
    (v: Value) => mul(v, v),
    (v: Value) => sin(v),
    x,
  );

describe.each(testEngines())("branches on %s", (engine) => {
  const options = { engine } as const;

  it("takes the branch of the condition", async () => {
    const f = compile((x: Value) => choose(x), options);
    expect(await f(3).item()).toBe(9);
    expect(await f(-1).item()).toBeCloseTo(Math.sin(-1), 6);
  });

  it("has the derivative of the branch taken, and a second one", async () => {
    const f = compile((x: Value) => [grad(choose)(x), grad(grad(choose))(x)] as const, options);
    const [up, upTwice] = f(3);
    expect([await up.item(), await upTwice.item()]).toEqual([6, 2]);
    const [down, downTwice] = f(-1);
    expect(await down.item()).toBeCloseTo(Math.cos(-1), 6);
    expect(await downTwice.item()).toBeCloseTo(Math.sin(1), 6);
  });

  it("gives branches what they use from outside, with its derivative", async () => {
    const f = compile(
      (x: Value, w: Value) =>
        grad((v: Value) =>
          cond(
            less(x, number(0)),
            () => mul(v, x),
            () => exp(v),
          ),
        )(w),
      options,
    );
    expect(await f(-4, 2).item()).toBe(-4);
    expect(await f(4, 0).item()).toBe(1);
  });

  it("chooses for each example under vmap", async () => {
    const f = compile((xs: Value) => vmap(choose)(xs), options);
    const result = await f(Float32Array.of(2, -1, 0.5)).read();
    expect(result[0]).toBe(4);
    expect(result[1]).toBeCloseTo(Math.sin(-1), 6);
    expect(result[2]).toBe(0.25);
  });

  it("keeps one branch under vmap where the condition is the same for all", async () => {
    const f = compile(
      (take: Value, xs: Value) =>
        vmap((x: Value) =>
          cond(
            take,
            () => add(x, x),
            () => x,
          ),
        )(xs),
      options,
    );
    expect([...(await f(true, Float32Array.of(1, 2)).read())]).toEqual([2, 4]);
  });

  it("switches by number, the nearest branch for numbers out of range", async () => {
    const f = compile(
      (i: Value, x: Value) =>
        switchBranch(i, [(v: Value) => v, (v: Value) => add(v, v), (v: Value) => mul(v, v)], x),
      options,
    );
    const at = async (i: number) => f(put(Int32Array.of(i), { ...options, shape: [] }), 5).item();
    expect([await at(-3), await at(0), await at(1), await at(2), await at(9)]).toEqual([5, 5, 10, 25, 25]);
  });

  it("works inside a loop, gradient included", async () => {
    const f = (w: Value, xs: Value) =>
      scan(
        (c: Value, x: Value) => [
          cond(
            greater(x, number(0)),
            () => mul(c, w),
            () => add(c, w),
          ),
          null,
        ],
        number(1),
        xs,
      )[0];
    const g = compile((w: Value, xs: Value) => [f(w, xs), grad(f)(w, xs)] as const, options);
    const [value, slope] = g(3, Float32Array.of(1, -1, 1)); // (w + w) w
    expect([await value.item(), await slope.item()]).toEqual([18, 12]);
  });

  it("says where branches differ", () => {
    const f = compile(
      (x: Value) =>
        cond(
          greater(x, number(0)),
          () => ({ a: x }),
          () => ({ a: mul(x, x), b: x }) as never,
        ),
      options,
    );
    expect(() => f(1)).toThrow(/cond: whenFalse and whenTrue: .*BRANCHES_DIFFER/);
    const g = compile(
      (x: Value) =>
        cond(
          greater(x, number(0)),
          () => x,
          () => splat(0, "i32"),
        ),
      options,
    );
    expect(() => g(1)).toThrow(/cond: whenFalse gives i32\[\] and whenTrue gives f32\[\]/);
  });
});
