import { userError } from "../trace/location.ts";
import { defineOp, type Op, type Several } from "../trace/op.ts";
import { type Shape, shapeText, type TensorType, tensorType } from "../trace/type.ts";
import { emit1, type Node, type Value } from "../trace/value.ts";
import { jaxName, wrapU8 } from "../wasm/dtype.ts";
import { hloType } from "../xla/writer.ts";
import { partOfArray } from "./array-parts.ts";
import { splat } from "./constant.ts";
import { convolveArrays } from "./convolution-wasm.ts";
import { checkDType } from "./rules.ts";
import { inversePermutation, reshape, reverse, transpose } from "./shape.ts";

/** Padding before and behind an axis. */
export type Padding = readonly [low: number, high: number];

/**
 * A convolution in full. The specs say where an axis stands: `lhsSpec` lists the positions of batch, feature and the
 * spatial axes of the input, `rhsSpec` those of out, in and the spatial axes of the kernel, `outSpec` those of batch,
 * feature and the spatial axes of the result. Everything else has one entry for each spatial axis. The kernel is not
 * flipped; negative padding cuts.
 */
export interface ConvolutionParams {
  readonly strides: readonly number[];
  readonly padding: readonly Padding[];
  readonly lhsDilation: readonly number[];
  readonly rhsDilation: readonly number[];
  /** The input's features fall into this many groups, each seen only by its own share of the kernel's outputs. */
  readonly groups: number;
  readonly lhsSpec: readonly number[];
  readonly rhsSpec: readonly number[];
  readonly outSpec: readonly number[];
}

export const at = (list: readonly number[], i: number): number => list[i] as number;
const along = (shape: Shape, spec: readonly number[]): number[] => spec.map((axis) => at(shape, axis));

/** The length of an axis once `by - 1` zeros stand between its elements. */
export const dilated = (n: number, by: number): number => (n === 0 ? 0 : (n - 1) * by + 1);

/** Number of windows that fit: the length of a spatial axis of the result. */
const windows = (n: number, kernel: number, i: number, p: ConvolutionParams): number => {
  const [low, high] = p.padding[i] as Padding;
  const room = dilated(n, at(p.lhsDilation, i)) + low + high - dilated(kernel, at(p.rhsDilation, i));
  return room < 0 ? 0 : Math.floor(room / at(p.strides, i)) + 1;
};

function resultType([x, w]: Several<TensorType>, params: ConvolutionParams): TensorType {
  checkDType("convolution", "the input", x, "number");
  if (x.dtype !== w.dtype)
    throw userError(
      "DTYPE_MISMATCH",
      `convolution: the input is ${x.text} and the kernel is ${w.text}`,
      `convert one of them: x.astype("${w.dtype}")`,
    );
  checkParams(x.shape, w.shape, params);
  const [batch, features, ...spatial] = along(x.shape, params.lhsSpec) as [number, number, ...number[]];
  const [out, into, ...kernel] = along(w.shape, params.rhsSpec) as [number, number, ...number[]];
  const { groups } = params;
  const both = `the input ${shapeText(x.shape)} and the kernel ${shapeText(w.shape)}`;
  if (features !== into * groups)
    throw userError(
      "SHAPE_MISMATCH",
      `convolution: ${both} do not fit: the input has ${features} channels (axis ${params.lhsSpec[1]}) and the kernel takes ${into} (axis ${params.rhsSpec[1]})${groups === 1 ? "" : ` in each of ${groups} groups`}`,
      features % groups === 0
        ? `make the kernel's input channels ${features / groups}${groups === 1 ? "" : ` (${features} channels in ${groups} groups)`}, or check the layout`
        : `use a number of groups that divides ${features}`,
    );
  if (out % groups !== 0)
    throw userError(
      "SHAPE_MISMATCH",
      `convolution: ${both}: ${out} output channels cannot be shared by ${groups} groups`,
      "make the kernel's output channels a multiple of the groups",
    );
  const result = [batch, out, ...spatial.map((n, i) => windows(n, at(kernel, i), i, params))];
  return tensorType(x.dtype, along(result, inversePermutation(params.outSpec)));
}

function checkParams(x: Shape, w: Shape, params: ConvolutionParams): void {
  const n = x.length - 2;
  const wrong = (what: string, fix: string) => userError("ARGUMENT_INVALID", `convolution: ${what}`, fix);
  if (n < 1 || w.length !== x.length)
    throw userError(
      "SHAPE_MISMATCH",
      `convolution: the input has shape ${shapeText(x)} and the kernel ${shapeText(w)}`,
      "both need the same number of axes: batch and channels (out and in), and one or more spatial ones",
    );
  for (const name of ["lhsSpec", "rhsSpec", "outSpec"] as const)
    if (params[name].length !== n + 2 || inversePermutation(params[name]).includes(-1))
      throw wrong(
        `${name} [${params[name].join(", ")}] does not place ${n + 2} axes`,
        "name every axis once",
      );
  for (const name of ["strides", "padding", "lhsDilation", "rhsDilation"] as const)
    if (params[name].length !== n)
      throw wrong(
        `${name} has ${params[name].length} entries for ${n} spatial axes`,
        `give ${n}, one for each spatial axis`,
      );
  const counts = [...params.strides, ...params.lhsDilation, ...params.rhsDilation, params.groups];
  if (!counts.every((s) => Number.isInteger(s) && s >= 1))
    throw wrong("strides, dilations and groups must be whole numbers from 1 on", "use 1 for none");
  if (!params.padding.flat().every(Number.isInteger))
    throw wrong("padding must be whole numbers", "give [low, high] for each spatial axis");
  if (params.rhsSpec.slice(2).some((axis) => w[axis] === 0))
    throw wrong(
      `the kernel ${shapeText(w)} has no elements along a spatial axis`,
      "make its window 1 or more",
    );
  params.padding.forEach(([low, high], i) => {
    const length = dilated(at(x, at(params.lhsSpec, i + 2)), at(params.lhsDilation, i));
    if (length + low + high < 0)
      throw wrong(
        `padding [${low}, ${high}] cuts more than the ${length} there are along spatial axis ${i}`,
        "cut less",
      );
  });
}

/** Puts the mapped axis in front of axis `axis` of what it maps over, inside each of `groups` equal parts of it. */
function fold(x: Value, axis: number, groups = 1): Value {
  const [size, ...rest] = x.shape as [number, ...number[]];
  const n = at(rest, axis);
  const split = [size, ...rest.slice(0, axis), groups, n / groups, ...rest.slice(axis + 1)];
  const order = split.map((_, i) => i).slice(1);
  order.splice(axis + 1, 0, 0);
  const merged = rest.map((m, i) => (i === axis ? size * n : m));
  return reshape(transpose(reshape(x, split), order), merged);
}

/** Undoes `fold`: takes an axis of length `size` out of axis `axis` and puts it in front. */
function unfold(x: Value, axis: number, size: number, groups = 1): Value {
  const n = at(x.shape, axis) / size;
  const split = [...x.shape.slice(0, axis), groups, size, n / groups, ...x.shape.slice(axis + 1)];
  const order = split.map((_, i) => i).filter((i) => i !== axis + 1);
  return reshape(transpose(reshape(x, split), [axis + 1, ...order]), [
    size,
    ...x.shape.map((m, i) => (i === axis ? n : m)),
  ]);
}

/** A kernel for the way back: every group's inputs become outputs and its window is reversed. */
export function transposedKernel(w: Value, rhsSpec: readonly number[], groups: number): Value {
  const swapped = groups === 1 ? w : fold(unfold(w, at(rhsSpec, 0), groups), at(rhsSpec, 1));
  return reverse(swapped, rhsSpec.slice(2));
}

const swapFirst = ([a, b, ...rest]: readonly number[]): number[] => [b as number, a as number, ...rest];

function derivative(node: Node<ConvolutionParams>, ct: Value): readonly (Value | undefined)[] {
  const { inputs, outputs, params } = node;
  const [x, w] = inputs;
  if (x.size === 0 || w.size === 0 || outputs[0].size === 0) return [];
  const { strides, lhsDilation, rhsDilation, groups, lhsSpec, rhsSpec, outSpec } = params;
  const n = (value: Value, spec: readonly number[], by: readonly number[], i: number) =>
    dilated(at(value.shape, at(spec, i + 2)), at(by, i));
  const lengths = params.padding.map(([low], i) => ({
    low,
    input: n(x, lhsSpec, lhsDilation, i),
    window: n(w, rhsSpec, rhsDilation, i),
    output: n(outputs[0], outSpec, strides, i),
  }));
  const byInput = convolution(ct, transposedKernel(w, rhsSpec, groups), {
    strides: lhsDilation,
    padding: lengths.map(({ low, input, window, output }) => [window - 1 - low, input - output + low]),
    lhsDilation: strides,
    rhsDilation,
    groups,
    lhsSpec: outSpec,
    rhsSpec: swapFirst(rhsSpec),
    outSpec: lhsSpec,
  });
  // Batch is what is summed over, so it stands where features do; the groups of features go along with it.
  const grouped = groups === 1 ? x : fold(unfold(x, at(lhsSpec, 1), groups), at(lhsSpec, 0));
  const byKernel = convolution(grouped, ct, {
    strides: rhsDilation,
    padding: lengths.map(({ low, input, window, output }) => [low, output - input + window - 1 - low]),
    lhsDilation,
    rhsDilation: strides,
    groups,
    lhsSpec: swapFirst(lhsSpec),
    rhsSpec: swapFirst(outSpec),
    outSpec: swapFirst(rhsSpec),
  });
  return [byInput, byKernel];
}

const convolutionOp: Op<ConvolutionParams> = defineOp<ConvolutionParams>({
  name: "convolution",
  type: (inputs, params) => [resultType(inputs, params)],
  derivative: (node, [ct]) => (ct ? derivative(node, ct) : []),
  batch: ([x, w], params, size) => {
    const { groups, lhsSpec, rhsSpec, outSpec } = params;
    if (size === 0) {
      const [one, other] = [x, w].map(({ value, batched }) =>
        tensorType(value.dtype, batched ? value.shape.slice(1) : value.shape),
      ) as [TensorType, TensorType];
      const type = resultType([one, other] as unknown as Several<TensorType>, params);
      return [splat(0, type.dtype, [0, ...type.shape])];
    }
    const [features, out] = [at(lhsSpec, 1), at(rhsSpec, 0)];
    if (x.batched && w.batched) {
      const grouped = { ...params, groups: groups * size };
      return [
        unfold(convolution(fold(x.value, features), fold(w.value, out), grouped), at(outSpec, 1), size),
      ];
    }
    if (x.batched)
      return [unfold(convolution(fold(x.value, at(lhsSpec, 0)), w.value, params), at(outSpec, 0), size)];
    return [unfold(convolution(x.value, fold(w.value, out, groups), params), at(outSpec, 1), size, groups)];
  },
  stablehlo: (writer, [x, w], { inputs, outputs, params: given }) => {
    const [whole, right, result] = [inputs[0].type, inputs[1].type, outputs[0].type];
    const { starts, ends, none, params } = withoutNegative(whole.shape, given);
    if (none || right.size === 0) return [writer.splat(0, result)];
    const left = tensorType(
      whole.dtype,
      ends.map((to, axis) => to - at(starts, axis)),
    );
    const ranges = starts.map((from, axis) => `${from}:${ends[axis]}`).join(", ");
    const input = left === whole ? x : writer.apply("slice", [x], [whole], left, ` [${ranges}]`);
    const numbers = [
      axisNames(params.lhsSpec, "b", "f"),
      axisNames(params.rhsSpec, "o", "i"),
      axisNames(params.outSpec, "b", "f"),
    ] as const;
    const list = (values: readonly unknown[]) => `[${values.join(", ")}]`;
    const window = [
      `stride = ${list(params.strides)}`,
      `pad = ${list(params.padding.map(list))}`,
      `lhs_dilate = ${list(params.lhsDilation)}`,
      `rhs_dilate = ${list(params.rhsDilation)}`,
      `reverse = ${list(params.strides.map(() => false))}`,
    ].join(", ");
    return [
      writer.put(
        `stablehlo.convolution(${input}, ${w}) dim_numbers = ${numbers[0]}x${numbers[1]}->${numbers[2]}, window = {${window}} {batch_group_count = 1 : i64, feature_group_count = ${params.groups} : i64} : (${hloType(left)}, ${hloType(right)}) -> ${hloType(result)}`,
      ),
    ];
  },
  wasm: (j, [x, w], { inputs, outputs, params: given }) => {
    const { dtype, shape, size } = outputs[0];
    const { starts, ends, none, params } = withoutNegative(inputs[0].shape, given);
    if (none || size === 0 || inputs[1].size === 0) {
      x.dispose();
      w.dispose();
      return [j.numpy.zeros([...shape], { dtype: jaxName(dtype) })];
    }
    const input = starts.reduce((array, from, axis) => {
      return partOfArray(j, array, { axis, from, stride: 1, count: at(ends, axis) - from });
    }, x);
    return [wrapU8(j, convolveArrays(j, input, w, params, shape), dtype)];
  },
});

/**
 * Negative padding as elements to cut, with the padding of what is left: XLA's CPU gets it wrong where there are
 * groups, and jax-js refuses it beyond bounds. A cut that ends between two elements of a dilated axis takes the first
 * of them as well, and the zeros that stood before the second become padding.
 */
function withoutNegative(shape: Shape, params: ConvolutionParams) {
  const starts = shape.map(() => 0);
  const ends = [...shape];
  const padding = params.padding.map(([low, high], i): Padding => {
    const [axis, by] = [at(params.lhsSpec, i + 2), at(params.lhsDilation, i)];
    const [before, behind] = [Math.ceil(Math.max(0, -low) / by), Math.ceil(Math.max(0, -high) / by)];
    starts[axis] = before;
    ends[axis] = at(shape, axis) - behind;
    return [low + before * by, high + behind * by];
  });
  /** Nothing of the input is left. */
  const none = starts.some((from, axis) => from >= at(ends, axis));
  return { starts, ends, none, params: { ...params, padding } };
}

function axisNames(spec: readonly number[], first: string, second: string): string {
  const names = spec.map((_, i) => (i === 0 ? first : i === 1 ? second : String(i - 2)));
  return `[${inversePermutation(spec)
    .map((i) => names[i])
    .join(", ")}]`;
}

/**
 * Slides the kernel `w` over `x` and sums products, as XLA's convolution does.
 *
 * @example
 * ```ts
 * const y = convolution(x, w, { strides: [1], padding: [[1, 1]], lhsDilation: [1], rhsDilation: [1], groups: 1,
 *   lhsSpec: [0, 2, 1], rhsSpec: [2, 1, 0], outSpec: [0, 2, 1] }); // x [batch, width, in], w [width, in, out]
 * ```
 */
export const convolution = (x: Value, w: Value, params: ConvolutionParams): Value =>
  emit1(convolutionOp, [x, w], params);
