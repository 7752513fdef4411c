import { describe, expect, it } from "vitest";
import { testEngines } from "../run/engines.test-support.ts";
import type { Value } from "../trace/value.ts";
import { grad } from "../transform/grad.ts";
import { convert } from "./convert.ts";
import { mul } from "./elementwise.ts";
import { given, gradients, mappedAndLooped, result, results, wave } from "./rule-checks.test-support.ts";
import { materialize, threefry2x32 } from "./threefry.ts";

const words = (...data: number[]) => given("u32", data.length === 1 ? [] : [data.length], data);

describe.each(testEngines())("threefry2x32 on %s", (engine) => {
  const hash = (k0: Value, k1: Value, c0: Value, c1: Value) => threefry2x32(k0, k1, c0, c1);

  it("gives the published results", () => {
    // The known answers of Random123, the library in which threefry was published.
    const [x0, x1] = results(
      engine,
      hash,
      words(0, 0xffffffff, 0x13198a2e),
      words(0, 0xffffffff, 0x03707344),
      words(0, 0xffffffff, 0x243f6a88),
      words(0, 0xffffffff, 0x85a308d3),
    );
    expect(x0).toEqual([0x6b200159, 0x1cb996fc, 0xc4923a9c]);
    expect(x1).toEqual([0x99ba4efe, 0xbb002be7, 0x483df7a0]);
  });

  it("lets scalars count for every element", () => {
    const [x0, x1] = results(engine, hash, words(7), words(9), words(0), words(0, 1, 2));
    const [y0, y1] = results(engine, hash, words(7, 7, 7), words(9, 9, 9), words(0, 0, 0), words(0, 1, 2));
    expect([x0, x1]).toEqual([y0, y1]);
  });

  it("hashes one count, and none", () => {
    expect(results(engine, hash, words(0), words(0), words(0), words(0))).toEqual([
      [0x6b200159],
      [0x99ba4efe],
    ]);
    expect(results(engine, hash, words(0), words(0), words(0), given("u32", [0, 2], []))).toEqual([[], []]);
  });

  it.each([
    ["keys", [true, true, false, false], [words(1, 2), words(3, 4), words(0), words(0, 1, 2)]],
    ["a key's half", [false, true, false, false], [words(1), words(3, 4), words(0), words(0, 1, 2)]],
    [
      "counts",
      [false, false, false, true],
      [words(1), words(3), words(0), given("u32", [2, 2], [0, 1, 2, 3])],
    ],
    ["scalars alone", [false, false, false, true], [words(1), words(3), words(0), words(5, 6)]],
    ["beside arrays", [true, false, false, false], [words(1, 2), words(3, 4, 5), words(0), words(0, 1, 2)]],
  ])("maps over %s", (_what, which, args) => {
    const { mapped, looped } = mappedAndLooped(engine, hash, which, ...args);
    expect(mapped).toEqual(looped);
  });

  it("counts as a constant for derivatives", () => {
    const drawn = (x: Value): Value => convert(threefry2x32(...alike(convert(x, "u32")))[0], "f32");
    const slope = (x: Value): Value => grad((v: Value) => mul(v, drawn(v)))(x);
    const at = given("f32", [], [4]);
    expect(result(engine, slope, at)).toEqual(result(engine, drawn, at));
  });

  it.each([
    ["floats", wave([]), words(0), "DTYPE_MISMATCH"],
    ["two shapes", words(0, 1), words(0, 1, 2), "SHAPE_MISMATCH"],
  ])("refuses %s", (_what, k0, c1, code) => {
    expect(() => results(engine, hash, k0, words(0), words(0), c1)).toThrow(
      expect.objectContaining({ code }),
    );
  });
});

const alike = (x: Value): [Value, Value, Value, Value] => [x, x, x, x];

describe.each(testEngines())("materialize on %s", (engine) => {
  it("changes neither values nor derivatives, and maps", () => {
    const x = wave([2, 3]);
    expect(result(engine, materialize, x)).toEqual(x.data);
    const { byRule } = gradients(engine, (v) => materialize(mul(v, v)), 1e-2, x);
    const { byRule: plain } = gradients(engine, (v) => mul(v, v), 1e-2, x);
    expect(byRule).toEqual(plain);
    const { mapped, looped } = mappedAndLooped(engine, materialize, [true], x);
    expect(mapped).toEqual(looped);
  });
});
