import { describe, expect, it } from "vitest";
import { iota } from "../ops/constant.ts";
import { reshape } from "../ops/shape.ts";
import { testEngines } from "../run/engines.test-support.ts";
import type { Value } from "../trace/value.ts";
import { vmap } from "../transform/vmap.ts";
import { digest, draw } from "./draw.test-support.ts";
import { split, splitKeys } from "./key.ts";
import { permutation, shuffle } from "./permutation.ts";
import fixture from "./random.fixture.json" with { type: "json" };

const table = (): Value => reshape(iota("f32", [12]), [4, 3]);

describe.each(testEngines())("permutation on %s", (engine) => {
  it.each(fixture.permutation)("orders $n numbers as JAX does", ({ seed, n, values }) => {
    expect(draw(engine, seed, (k) => permutation(k, n))).toEqual({ type: `i32[${n}]`, values });
  });

  it("orders 5,000 numbers, which takes two rounds, as JAX does", () => {
    const { seed, n, mixed } = fixture.manyPlaces;
    const { values } = draw(engine, seed, (k) => permutation(k, n));
    expect(new Set(values).size).toBe(n);
    expect(digest(values).mixed).toBe(mixed);
  });

  it("shuffles rows, columns and vectors as JAX does", () => {
    const { shuffleRows, shuffleColumns, shuffleVector } = fixture;
    const { type, values } = draw(engine, shuffleRows.seed, (k) => permutation(k, table()));
    expect({ type, values }).toEqual({ type: "f32[4,3]", values: shuffleRows.values });
    const columns = draw(engine, shuffleColumns.seed, (k) => shuffle(k, table(), { axis: -1 }));
    expect(columns.values).toEqual(shuffleColumns.values);
    const vector = draw(engine, shuffleVector.seed, (k) => shuffle(k, reshape(table(), [12])));
    expect(vector.values).toEqual(shuffleVector.values);
  });

  it("gives each mapped key the order it gives alone", () => {
    const mapped = draw(engine, 1, (k) => vmap((each: Value) => permutation(each, 6))(splitKeys(k, 3)));
    const alone = [0, 1, 2].flatMap(
      (i) => draw(engine, 1, (k) => permutation(split(k, 3)[i] as Value, 6)).values,
    );
    expect(mapped.values).toEqual(alone);
  });

  it("puts every number everywhere about equally often", () => {
    const { values } = draw(engine, 2, (k) =>
      vmap((each: Value) => permutation(each, 4))(splitKeys(k, 2_000)),
    );
    const firsts = values.filter((_, i) => i % 4 === 0);
    for (const n of [0, 1, 2, 3])
      expect(Math.abs(firsts.filter((x) => x === n).length - 500)).toBeLessThan(80);
  });

  it.each([
    ["a negative length", (k: Value) => permutation(k, -1), "ARGUMENT_INVALID"],
    ["an axis that is not there", (k: Value) => shuffle(k, table(), { axis: 2 }), "AXIS_OUT_OF_RANGE"],
    ["a wrong key", () => permutation(new Uint32Array(1), 3), "KEY_INVALID"],
  ])("refuses %s", (_what, fn: (k: Value) => Value, code) => {
    expect(() => draw(engine, 0, fn)).toThrow(expect.objectContaining({ code }));
  });
});
