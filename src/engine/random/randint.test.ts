import { describe, expect, it } from "vitest";
import { compile } from "../run/compile.ts";
import { testEngines } from "../run/engines.test-support.ts";
import { put } from "../run/put.ts";
import type { Value } from "../trace/value.ts";
import { draw } from "./draw.test-support.ts";
import { hostKey } from "./host.ts";
import fixture from "./random.fixture.json" with { type: "json" };
import { randint } from "./uniform.ts";

describe.each(testEngines())("randint on %s", (engine) => {
  it.each(fixture.randint)("draws JAX's $dtype from $min up to $max", (sample) => {
    const { seed, shape, min, max, values } = sample;
    const dtype = sample.dtype as "i32" | "u32" | "u8";
    const drawn = draw(engine, seed, (k) => randint(k, shape, min, max, { dtype }));
    expect(drawn).toEqual({ type: `${dtype}[6]`, values });
  });

  it("takes traced ends that are repeated to the shape, as JAX does; an empty range gives its start", () => {
    const { seed, shape, values } = fixture.randintOfArrays;
    const low = put(Int32Array.of(0, 10, 5), { engine });
    const high = put(Int32Array.of(3, 20), { engine, shape: [2, 1] });
    const drawn = compile((a: Value, b: Value) => randint(hostKey(seed), shape, a, b), { engine })(low, high);
    expect([...drawn.readSync()]).toEqual(values);
  });

  it("moves traced ends into what the type holds", () => {
    const ends = put(Int32Array.of(-1000, 1000), { engine, shape: [2, 1] });
    const bytes = (x: Value) => randint(hostKey(1), [2, 500], 0, x, { dtype: "u8" });
    const drawn = [...compile(bytes, { engine })(ends).readSync()];
    expect(Math.max(...drawn.slice(0, 500))).toBe(0);
    expect(Math.max(...drawn.slice(500))).toBeGreaterThan(250);
  });

  it("draws every side of the dice about equally often", () => {
    const { values } = draw(engine, 6, (k) => randint(k, [12_000], 1, 7));
    for (const side of [1, 2, 3, 4, 5, 6]) {
      expect(Math.abs(values.filter((x) => x === side).length - 2000)).toBeLessThan(150);
    }
  });

  it("gives no numbers for an empty shape", () => {
    expect(draw(engine, 6, (k) => randint(k, [0, 3], 1, 7))).toEqual({ type: "i32[0,3]", values: [] });
  });

  it.each([
    ["an empty range", (k: Value) => randint(k, [1], 3, 3), "ARGUMENT_INVALID"],
    ["a fraction", (k: Value) => randint(k, [1], 0, 2.5), "ARGUMENT_INVALID"],
    ["an end the type cannot hold", (k: Value) => randint(k, [1], 0, 2 ** 31), "ARGUMENT_INVALID"],
    ["a negative byte", (k: Value) => randint(k, [1], -1, 5, { dtype: "u8" }), "ARGUMENT_INVALID"],
    ["floats as ends", (k: Value) => randint(k, [1], 0, new Float32Array(1)), "DTYPE_MISMATCH"],
    ["floats to draw", (k: Value) => randint(k, [1], 0, 2, { dtype: "f32" as "i32" }), "DTYPE_UNSUPPORTED"],
    ["a negative length", (k: Value) => randint(k, [-1], 0, 2), "SHAPE_INVALID"],
    ["a wrong key", () => randint(new Uint32Array(1), [1], 0, 2), "KEY_INVALID"],
  ])("refuses %s", (_what, fn: (k: Value) => Value, code) => {
    expect(() => draw(engine, 0, fn)).toThrow(
      expect.objectContaining({ code, message: expect.stringContaining("randint:") }),
    );
  });
});
