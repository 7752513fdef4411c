import { describe, expect, it } from "vitest";
import { testEngines } from "../run/engines.test-support.ts";
import { put } from "../run/put.ts";
import { errorOf, evaluate, expectAll } from "./evaluate.test-support.ts";
import * as np from "./index.ts";

// Expected numbers: jax.numpy 0.10.2.

describe.each(testEngines())("creation on %s", (engine) => {
  it("fills shapes", () => {
    expectAll(
      evaluate(
        engine,
        (x) => ({
          zeros: np.zeros([2, 1]),
          ones: np.ones(2, { dtype: "i32" }),
          full: np.full([2], 7),
          fullOfValue: np.full([2, 2], x),
          fullTyped: np.full([2], true),
          zerosLike: np.zerosLike(x),
          onesLike: np.onesLike(x, { dtype: "bool" }),
          fullLike: np.fullLike(np.array([1, 2], { dtype: "u8" }), 3),
          scalar: np.zeros([]),
          empty: np.ones([0, 2]),
        }),
        [1.5, 2.5],
      ),
      {
        zeros: ["f32[2,1]", [[0], [0]]],
        ones: ["i32[2]", [1, 1]],
        full: ["f32[2]", [7, 7]],
        fullOfValue: [
          "f32[2,2]",
          [
            [1.5, 2.5],
            [1.5, 2.5],
          ],
        ],
        fullTyped: ["bool[2]", [true, true]],
        zerosLike: ["f32[2]", [0, 0]],
        onesLike: ["bool[2]", [true, true]],
        fullLike: ["u8[2]", [3, 3]],
        scalar: ["f32[]", 0],
        empty: ["f32[0,2]", []],
      },
    );
  });

  it("counts", () => {
    expectAll(
      evaluate(engine, () => ({
        four: np.arange(4),
        from: np.arange(2, 5),
        down: np.arange(5, 0, -2),
        steps: np.arange(0, 1, 0.3),
        typed: np.arange(3, { dtype: "f32" }),
        bytes: np.arange(1, 4, { dtype: "u8" }),
        none: np.arange(3, 3),
        linspace: np.linspace(0, 1, 5),
        open: np.linspace(0, 1, 4, { endpoint: false }),
        one: np.linspace(3, 4, 1),
        iota: np.iota([2, 3], { axis: -1 }),
        iotaFloat: np.iota(3, { dtype: "f32" }),
        iotaBytes: np.iota(3, { dtype: "u8" }),
      })),
      {
        four: ["i32[4]", [0, 1, 2, 3]],
        from: ["i32[3]", [2, 3, 4]],
        down: ["i32[3]", [5, 3, 1]],
        steps: ["f32[4]", [0, 0.3, 0.6, 0.90000004]],
        typed: ["f32[3]", [0, 1, 2]],
        bytes: ["u8[3]", [1, 2, 3]],
        none: ["i32[0]", []],
        linspace: ["f32[5]", [0, 0.25, 0.5, 0.75, 1]],
        open: ["f32[4]", [0, 0.25, 0.5, 0.75]],
        one: ["f32[1]", [3]],
        iota: [
          "i32[2,3]",
          [
            [0, 1, 2],
            [0, 1, 2],
          ],
        ],
        iotaFloat: ["f32[3]", [0, 1, 2]],
        iotaBytes: ["u8[3]", [0, 1, 2]],
      },
    );
  });

  it("makes grids either way round", () => {
    expectAll(
      evaluate(
        engine,
        (a, b) => {
          const [x, y] = np.meshgrid([a, b]);
          const [i, j, k] = np.meshgrid([a, b, np.array([9, 8])], { indexing: "ij" });
          return { x, y, i, j, k };
        },
        [1, 2, 3],
        [4, 5],
      ),
      {
        x: [
          "f32[2,3]",
          [
            [1, 2, 3],
            [1, 2, 3],
          ],
        ],
        y: [
          "f32[2,3]",
          [
            [4, 4, 4],
            [5, 5, 5],
          ],
        ],
        i: [
          "f32[3,2,2]",
          [
            [
              [1, 1],
              [1, 1],
            ],
            [
              [2, 2],
              [2, 2],
            ],
            [
              [3, 3],
              [3, 3],
            ],
          ],
        ],
        j: [
          "f32[3,2,2]",
          [
            [
              [4, 4],
              [5, 5],
            ],
            [
              [4, 4],
              [5, 5],
            ],
            [
              [4, 4],
              [5, 5],
            ],
          ],
        ],
        k: [
          "f32[3,2,2]",
          [
            [
              [9, 8],
              [9, 8],
            ],
            [
              [9, 8],
              [9, 8],
            ],
            [
              [9, 8],
              [9, 8],
            ],
          ],
        ],
      },
    );
  });

  it("turns nested arrays into values, traced ones among them", () => {
    expectAll(
      evaluate(
        engine,
        (x) => ({
          matrix: np.array([
            [1, 2],
            [3, 4],
          ]),
          integers: np.array([1.7, -2.7], { dtype: "i32" }),
          truths: np.array([true, false]),
          bytes: np.array(new Uint8Array([1, 2])),
          number: np.array(3),
          empty: np.array([[], []]),
          stacked: np.array([x, np.multiply(x, 2)]),
          same: np.array(x, { dtype: "i32" }),
          flags: np.array([0, 2], { dtype: "bool" }),
        }),
        [1, 2],
      ),
      {
        matrix: [
          "f32[2,2]",
          [
            [1, 2],
            [3, 4],
          ],
        ],
        integers: ["i32[2]", [1, -2]],
        truths: ["bool[2]", [true, false]],
        bytes: ["u8[2]", [1, 2]],
        number: ["f32[]", 3],
        empty: ["f32[2,0]", [[], []]],
        stacked: [
          "f32[2,2]",
          [
            [1, 2],
            [2, 4],
          ],
        ],
        same: ["i32[2]", [1, 2]],
        flags: ["bool[2]", [false, true]],
      },
    );
  });

  it("converts element types and reads bits", () => {
    expectAll(
      evaluate(
        engine,
        (x, i) => ({
          cut: np.astype(x, "i32"),
          truths: np.astype(x, "bool"),
          floats: np.astype(i, "f32"),
          bytes: np.astype(i, "u8"),
          bits: np.bitcast(x, "i32"),
          back: np.bitcast(np.bitcast(x, "u32"), "f32"),
        }),
        [1.9, -1.9, 0],
        put(new Int32Array([1, 300, 7]), { engine }),
      ),
      {
        cut: ["i32[3]", [1, -1, 0]],
        truths: ["bool[3]", [true, true, false]],
        floats: ["f32[3]", [1, 300, 7]],
        bytes: ["u8[3]", [1, 44, 7]],
        bits: ["i32[3]", [1072902963, -1074580685, 0]],
        back: ["f32[3]", [1.9, -1.9, 0]],
      },
    );
  });

  it("takes tensors from outside as they are", () => {
    const outside = put([1, 2, 3], { engine });
    expectAll(
      evaluate(engine, (x) => ({ sum: np.add(x, outside) }), [1, 1, 1]),
      { sum: ["f32[3]", [2, 3, 4]] },
    );
  });
});

describe("errors of creation", () => {
  it("refuse what is no shape, no count and no element type", () => {
    const error = errorOf(() => np.zeros([2, -1]));
    expect(error.code).toBe("SHAPE_INVALID");
    expect(error.message).toContain("zeros: [2, -1] is not a shape");
    expect(error.at).toContain("creation.test.ts");
    expect(errorOf(() => np.arange(0, 3, 0)).message).toContain("arange: from 0 to 3 by 0");
    expect(errorOf(() => np.iota([2], { axis: 1 })).message).toContain("iota: axis 1");
    const typo = errorOf((x) => np.astype(x, "f23" as "f32"), [1]);
    expect(typo.code).toBe("DTYPE_UNKNOWN");
    expect(typo.message).toContain('did you mean "f32"?');
  });

  it("refuse ragged rows, strangers and numbers that do not fit", () => {
    expect(errorOf(() => np.array([[1, 2], [3]])).message).toContain(
      "array: the nested arrays are not all of shape [2, 2]",
    );
    expect(errorOf(() => np.array([1, "2" as unknown as number])).message).toContain(
      "array: an element is 2 (string)",
    );
    expect(errorOf(() => np.array([-1], { dtype: "u8" })).code).toBe("NUMBER_OUT_OF_RANGE");
    expect(errorOf((x) => np.bitcast(x, "u8"), [1]).message).toContain(
      "bitcast: f32[1] has elements of 4 bytes",
    );
  });

  it("say that values are made inside compile", () => {
    expect(() => np.zeros([2])).toThrowError(/zeros was called outside a compiled function/);
    expect(() => np.array([2])).toThrowError(/array was called outside a compiled function/);
  });

  it("says that linspace takes the count third, where options came in its place", () => {
    expect(() => evaluate("wasm", () => np.linspace(0, 1, { num: 5 } as never))).toThrow(
      /linspace: how many numbers is asked third/,
    );
  });
});
