import { shown } from "../../core/index.ts";
import { userError } from "../trace/location.ts";
import { defineOp } from "../trace/op.ts";
import { type Shape, sameDims, shapeText, sizeOf, tensorType } from "../trace/type.ts";
import { emit1, type Value } from "../trace/value.ts";
import { inMemory } from "../wasm/dtype.ts";
import { convert } from "./convert.ts";
import { reduceSum } from "./reduce.ts";
import { batchedValue } from "./rules.ts";
import { sliceAlong } from "./slice.ts";

/** True if a shape describes a tensor: whole numbers, none negative. */
export function checkShape(op: string, shape: Shape): void {
  if (!Array.isArray(shape))
    throw userError("SHAPE_INVALID", `${op}: ${shown(shape)} is not a shape`, "give a list: [2, 3]");
  if (!shape.every((n) => Number.isInteger(n) && n >= 0))
    throw userError(
      "SHAPE_INVALID",
      `${op}: ${shapeText(shape)} is not a shape`,
      "use whole numbers from 0 on",
    );
}

const broadcastOp = defineOp<{ readonly shape: Shape; readonly dims: readonly number[] }>({
  name: "broadcastInDim",
  cheap: true,
  type: ([x], { shape, dims }) => {
    const fits =
      dims.length === x.shape.length && x.shape.every((n, i) => n === 1 || n === shape[dims[i] as number]);
    if (!fits)
      throw userError(
        "SHAPE_MISMATCH",
        `broadcast: shape ${shapeText(x.shape)} cannot be repeated to ${shapeText(shape)}`,
        "every axis must be 1 or equal, counted from the last",
      );
    return [tensorType(x.dtype, shape)];
  },
  derivative: ({ inputs, params }, [ct]) => {
    const [x] = inputs;
    if (!ct) return [undefined];
    const added = params.shape.map((_, i) => i).filter((i) => !params.dims.includes(i));
    const stretched = params.dims.filter((d, i) => x.shape[i] === 1 && params.shape[d] !== 1);
    const axes = [...added, ...stretched].sort((a, b) => a - b);
    // 16-bit floats have too few digits for sums.
    const isNarrow = axes.length > 0 && (ct.dtype === "bf16" || ct.dtype === "f16");
    const sum = reduceSum(isNarrow ? convert(ct, "f32") : ct, axes);
    return [reshape(isNarrow ? convert(sum, ct.dtype) : sum, x.shape)];
  },
  batch: ([x], { shape, dims }, size) => [
    broadcastInDim(x.value, [size, ...shape], [0, ...dims.map((d) => d + 1)]),
  ],
  stablehlo: (w, names, { inputs, outputs, params }) => [
    w.apply("broadcast_in_dim", names, inputs, outputs[0], `, dims = ${shapeText(params.dims)}`),
  ],
  wasm: (j, [x], { inputs, params }) => {
    const from = inputs[0].shape;
    const ordered = params.shape.map((_, d) => {
      const i = params.dims.indexOf(d);
      return i < 0 ? 1 : (from[i] as number);
    });
    return [j.numpy.broadcastTo(x.reshape(ordered), [...params.shape])];
  },
});

/** Repeats a value into `shape`; axis i of it becomes axis `dims[i]`, which must rise. */
export function broadcastInDim(x: Value, shape: Shape, dims: readonly number[]): Value {
  if (sameDims(x.shape, shape)) return x;
  return emit1(broadcastOp, [x], { shape, dims });
}

/** Repeats a value over leading axes and axes of length 1, as NumPy does. */
export function broadcastTo(x: Value, shape: Shape): Value {
  const offset = shape.length - x.ndim;
  return broadcastInDim(
    x,
    shape,
    x.shape.map((_, i) => i + offset),
  );
}

const reshapeOp = defineOp<{ readonly shape: Shape }>({
  name: "reshape",
  cheap: true,
  type: ([x], { shape }) => {
    checkShape("reshape", shape);
    if (sizeOf(shape) !== x.size)
      throw userError(
        "SHAPE_MISMATCH",
        `reshape: ${shapeText(x.shape)} has ${x.size} elements and ${shapeText(shape)} has ${sizeOf(shape)}`,
        "give a shape with as many elements; -1 stands for the one that follows from the others",
      );
    return [tensorType(x.dtype, shape)];
  },
  derivative: ({ inputs }, [ct]) => [ct && reshape(ct, inputs[0].shape)],
  batch: ([x], { shape }, size) => [reshape(x.value, [size, ...shape])],
  stablehlo: (w, names, { inputs, outputs }) => [w.apply("reshape", names, inputs, outputs[0])],
  wasm: (_j, [x], { params }) => [x.reshape([...params.shape])],
});

export const reshape = (x: Value, shape: Shape): Value =>
  sameDims(x.shape, shape) ? x : emit1(reshapeOp, [x], { shape });

const transposeOp = defineOp<{ readonly perm: readonly number[] }>({
  name: "transpose",
  cheap: true,
  type: ([x], { perm }) => {
    if ([...perm].sort((a, b) => a - b).some((p, i) => p !== i) || perm.length !== x.shape.length)
      throw userError(
        "AXIS_OUT_OF_RANGE",
        `transpose: [${perm.join(", ")}] does not order the ${x.shape.length} axes of ${shapeText(x.shape)}`,
        "name every axis once",
      );
    return [
      tensorType(
        x.dtype,
        perm.map((p) => x.shape[p] as number),
      ),
    ];
  },
  derivative: ({ params }, [ct]) => [ct && transpose(ct, inversePermutation(params.perm))],
  batch: ([x], { perm }) => [transpose(x.value, [0, ...perm.map((p) => p + 1)])],
  stablehlo: (w, names, { inputs, outputs, params }) => [
    w.apply("transpose", names, inputs, outputs[0], `, dims = ${shapeText(params.perm)}`),
  ],
  wasm: (_j, [x], { params }) => [x.transpose([...params.perm])],
});

export const inversePermutation = (perm: readonly number[]): number[] => perm.map((_, i) => perm.indexOf(i));

export const transpose = (x: Value, perm: readonly number[]): Value =>
  perm.length === x.ndim && perm.every((p, i) => p === i) ? x : emit1(transposeOp, [x], { perm });

const reverseOp = defineOp<{ readonly axes: readonly number[] }>({
  name: "reverse",
  type: ([x]) => [x],
  derivative: ({ params }, [ct]) => [ct && reverse(ct, params.axes)],
  batch: ([x], { axes }) => [
    reverse(
      x.value,
      axes.map((a) => a + 1),
    ),
  ],
  stablehlo: (w, [x], { inputs, params }) => [
    w.each("reverse", [`${x}, dims = ${shapeText(params.axes)}`], inputs[0]),
  ],
  wasm: (j, [x], { params }) => [j.numpy.flip(x, [...params.axes])],
});

export const reverse = (x: Value, axes: readonly number[]): Value =>
  axes.length === 0 ? x : emit1(reverseOp, [x], { axes });

const concatenateOp = defineOp<{ readonly axis: number }>({
  name: "concatenate",
  type: (inputs, { axis }) => {
    const [first] = inputs;
    if (!first)
      throw userError("ARGUMENT_MISSING", "concatenate: nothing to join", "pass at least one value");
    let total = 0;
    inputs.forEach((x, i) => {
      const alike =
        x.shape.length === first.shape.length && x.shape.every((n, d) => d === axis || n === first.shape[d]);
      if (!alike)
        throw userError(
          "SHAPE_MISMATCH",
          `concatenate: argument 0 has shape ${shapeText(first.shape)} and argument ${i} has shape ${shapeText(x.shape)}`,
          `all shapes must agree except on axis ${axis}`,
        );
      total += x.shape[axis] as number;
    });
    return [
      tensorType(
        first.dtype,
        first.shape.map((n, d) => (d === axis ? total : n)),
      ),
    ];
  },
  derivative: ({ inputs, params }, [ct]) => {
    if (!ct) return inputs.map(() => undefined);
    let to = 0;
    return inputs.map((x) => {
      const from = to;
      to += x.shape[params.axis] as number;
      return sliceAlong(ct, params.axis, from, to);
    });
  },
  batch: (inputs, { axis }, size) => [
    concatenate(
      inputs.map((x) => batchedValue(x, size)),
      axis + 1,
    ),
  ],
  stablehlo: (w, names, { inputs, outputs, params }) => [
    w.apply("concatenate", names, inputs, outputs[0], `, dim = ${params.axis}`),
  ],
  wasm: (j, arrays, { inputs, params }) => {
    const filled = arrays.map((array, i) => (inputs[i]?.node.op.cheap ? inMemory(j, array) : array));
    return [j.numpy.concatenate(filled, params.axis)];
  },
});

export const concatenate = (xs: readonly Value[], axis: number): Value =>
  xs.length === 1 ? (xs[0] as Value) : emit1(concatenateOp, xs, { axis });
