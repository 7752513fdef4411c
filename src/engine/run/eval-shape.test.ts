import { describe, expect, it } from "vitest";
import { matmul } from "../np/index.ts";
import type { Value } from "../trace/value.ts";
import { evalShape, spec } from "./eval-shape.ts";

describe("evalShape", () => {
  it("gives shapes and types of a tree of results without numbers", () => {
    const f = (p: { readonly w: Value }, x: Value) => ({ y: matmul(x, p.w), p });
    const result = evalShape(f, { w: spec([4, 2]) }, spec([8, 4]));
    expect([String(result.y), String(result.p.w)]).toEqual(["f32[8,2]", "f32[4,2]"]);
  });

  it("raises the function's own shape errors", () => {
    expect(() => evalShape((x: Value, w: Value) => matmul(x, w), spec([8, 3]), spec([4, 2]))).toThrow(
      /SHAPE_MISMATCH/,
    );
  });

  it("refuses what is no shape and no value", () => {
    expect(() => spec([-1])).toThrow(/SHAPE_INVALID/);
    expect(() => evalShape((x: Value) => x, "a")).toThrow(/ARGUMENT_INVALID/);
  });
});
