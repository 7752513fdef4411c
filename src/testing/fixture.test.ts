import { describe, expect, it } from "vitest";
import { dense } from "./dense.ts";
import { parseTensor } from "./fixture.ts";

describe("tensors of fixtures", () => {
  it("are read with all their numbers", () => {
    const { POSITIVE_INFINITY: inf, NaN: nan } = Number;
    expect(parseTensor("f32[2,3] 0.5 -1 inf nan -0 -inf")).toEqual(
      dense("f32", [2, 3], [0.5, -1, inf, nan, -0, -inf]),
    );
    expect(parseTensor("u32[1] 4294967295")).toEqual(dense("u32", [1], [4294967295]));
  });

  it("may be scalars, or have no elements", () => {
    expect(parseTensor("bool[] 1")).toEqual(dense("bool", [], [1]));
    expect(parseTensor("f32[0,3]")).toEqual(dense("f32", [0, 3], []));
  });

  it("are told from other text", () => {
    expect(parseTensor("i32")).toBeUndefined();
    expect(parseTensor("ij,jk->ik")).toBeUndefined();
  });
});
