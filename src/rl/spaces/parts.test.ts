import { describe, expect, it } from "vitest";
import { compile, put, type Tensor, type Value } from "../../engine/index.ts";
import { box, dict, discrete, multiDiscrete, partsOf, type Space, writeFlat } from "./index.ts";

const space = dict({
  camera: box({ shape: [2, 2] }),
  inner: dict({ gear: discrete(3), wheels: multiDiscrete([2, 2]) }),
});

const parts = (space: Space, rows: number, row: Float32Array): Tensor =>
  compile((value: Value) => partsOf(space, value.reshape([rows, 1, -1])), { engine: "wasm" })(
    put(row, { engine: "wasm" }),
  ) as Tensor;

const held = async (part: Tensor) => [part.shape, [...((await part.read()) as Float32Array)]];

describe("partsOf", () => {
  it("gives the parts of flat rows by name, in their shapes", async () => {
    const row = new Float32Array(22);
    writeFlat(space, { camera: [1, 2, 3, 4], inner: { gear: 2, wheels: [0, 1] } }, row, 0);
    writeFlat(space, { camera: [5, 6, 7, 8], inner: { gear: 0, wheels: [1, 1] } }, row, 11);
    const { camera, inner } = parts(space, 2, row) as unknown as {
      readonly camera: Tensor;
      readonly inner: { readonly gear: Tensor; readonly wheels: Tensor };
    };
    expect(await held(camera)).toEqual([
      [2, 1, 2, 2],
      [1, 2, 3, 4, 5, 6, 7, 8],
    ]);
    expect(await held(inner.gear)).toEqual([
      [2, 1, 3],
      [0, 0, 1, 1, 0, 0],
    ]);
    expect(await held(inner.wheels)).toEqual([
      [2, 1, 4],
      [1, 0, 0, 1, 0, 1, 0, 1],
    ]);
  });

  it("gives a space without names as one part", async () => {
    const one = parts(box({ shape: [2, 1] }), 1, Float32Array.of(1, 2));
    expect(await held(one)).toEqual([
      [1, 1, 2, 1],
      [1, 2],
    ]);
  });

  it("refuses rows of another space", () => {
    expect(() => parts(discrete(3), 1, Float32Array.of(1, 2))).toThrow(
      expect.objectContaining({ code: "SHAPE_MISMATCH" }),
    );
  });
});
