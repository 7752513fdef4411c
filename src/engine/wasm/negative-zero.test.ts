import { describe, expect, it } from "vitest";
import { multiply } from "../np/arithmetic.ts";
import { full } from "../np/creation.ts";
import { compile } from "../run/compile.ts";
import { put } from "../run/put.ts";
import type { Value } from "../trace/value.ts";

const engine = "wasm" as const;

describe("a constant zero on wasm", () => {
  it.each([
    [0, -0, 0],
    [-0, 0, -0],
  ])("keeps its sign, whatever programs were before: %d, %d, %d", (...zeros) => {
    for (const zero of zeros) {
      expect(compile(() => full([2], zero), { engine })().readSync()).toEqual(Float32Array.of(zero, zero));
      const product = compile((x: Value) => multiply(x, zero), { engine })(
        put([1, 2], { engine }),
      ).readSync();
      expect(product).toEqual(Float32Array.of(zero, zero));
    }
  });
});
