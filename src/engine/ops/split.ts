import { defineOp, type Op } from "../trace/op.ts";
import { tensorType } from "../trace/type.ts";
import { emit, type Value } from "../trace/value.ts";
import { partOfArray } from "./array-parts.ts";
import { zerosLike } from "./constant.ts";
import { concatenate } from "./shape.ts";

/** Lengths of the parts along the axis; together they are the whole. */
interface SplitParams {
  readonly axis: number;
  readonly sizes: readonly number[];
}

/** Start of each part. */
const starts = (sizes: readonly number[]): readonly number[] =>
  sizes.map((_, i) => sizes.slice(0, i).reduce((sum, n) => sum + n, 0));

/** One op for all parts, because its derivative is then one joining; that of slices would be a sum of paddings. */
const splitOp: Op<SplitParams> = defineOp<SplitParams>({
  name: "split",
  cheap: true,
  type: ([x], { axis, sizes }) =>
    sizes.map((size) =>
      tensorType(
        x.dtype,
        x.shape.map((n, d) => (d === axis ? size : n)),
      ),
    ),
  derivative: ({ outputs, params }, cotangents) => [
    concatenate(
      outputs.map((output, i) => cotangents[i] ?? zerosLike(output)),
      params.axis,
    ),
  ],
  batch: ([x], { axis, sizes }) => split(x.value, axis + 1, sizes),
  stablehlo: (w, [x], { inputs, outputs, params }) =>
    outputs.map((output, i) => {
      const from = starts(params.sizes)[i] as number;
      const ranges = output.shape.map((n, d) => (d === params.axis ? `${from}:${from + n}` : `0:${n}`));
      return w.apply("slice", [x], inputs, output, ` [${ranges.join(", ")}]`);
    }),
  wasm: (j, [x], { outputs, params }) => {
    const parts = outputs.map((_, i) => {
      const from = starts(params.sizes)[i] as number;
      const count = params.sizes[i] as number;
      return partOfArray(j, x.ref, { axis: params.axis, from, stride: 1, count });
    });
    x.dispose();
    return parts;
  },
});

/** The value cut along an axis into parts of these lengths. */
export const split = (x: Value, axis: number, sizes: readonly number[]): readonly Value[] =>
  sizes.length === 1 ? [x] : emit(splitOp, [x], { axis, sizes });
