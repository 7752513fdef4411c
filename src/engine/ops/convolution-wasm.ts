import type { Jax, JaxArray } from "../trace/op.ts";
import type { Shape } from "../trace/type.ts";
import { sizeOf } from "../trace/type.ts";
import type { ConvolutionParams } from "./convolution.ts";
import { dilated } from "./convolution.ts";

/** Elements `from`, `from + stride`, ... along an axis, `count` of them. */
export interface Part {
  readonly axis: number;
  readonly from: number;
  readonly stride: number;
  readonly count: number;
}

const at = (list: readonly number[], i: number): number => list[i] as number;

/** Some elements of an axis: fills up to whole groups of `stride` and keeps the first of each. Owns the array. */
export function partOfArray(j: Jax, x: JaxArray, { axis, from, stride, count }: Part): JaxArray {
  const only = (array: JaxArray, first: number, end: number): JaxArray =>
    first === 0 && end === array.shape[axis]
      ? array
      : array.slice(...array.shape.map((_, d): [] | [number, number] => (d === axis ? [first, end] : [])));
  if (stride === 1) return only(x, from, from + count);
  const missing = Math.max(0, from + count * stride - at(x.shape, axis));
  const widths = x.shape.map((_, d): [number, number] => [0, d === axis ? missing : 0]);
  const cut = only(missing > 0 ? j.numpy.pad(x, widths) : x, from, from + count * stride);
  const grouped = cut.shape.flatMap((n, d) => (d === axis ? [count, stride] : [n]));
  return cut.reshape(grouped).slice(...grouped.map((_, d): 0 | [] => (d === axis + 1 ? 0 : [])));
}

/** Puts `by - 1` zeros between the elements of an axis. Owns the array. */
function spreadArray(j: Jax, x: JaxArray, axis: number, by: number): JaxArray {
  const n = at(x.shape, axis);
  if (by === 1 || n === 1) return x;
  const single = x.shape.flatMap((m, d) => (d === axis ? [m, 1] : [m]));
  const wide = j.numpy.pad(
    x.reshape(single),
    single.map((_, d): [number, number] => [0, d === axis + 1 ? by - 1 : 0]),
  );
  const joined = x.shape.map((m, d) => (d === axis ? m * by : m));
  return partOfArray(j, wide.reshape(joined), { axis, from: 0, stride: 1, count: dilated(n, by) });
}

/**
 * Writes an array out in the order of its axes: jax-js's products are slow (20 times and more) over anything it would
 * read through a view, and of all it has, joining parts is what makes an array of its own. Owns the array.
 */
function writtenOut(j: Jax, x: JaxArray): JaxArray {
  const axis = x.shape.findIndex((n) => n > 1);
  if (axis < 0) return x;
  const rest = at(x.shape, axis) - 1;
  const first = partOfArray(j, x.ref, { axis, from: 0, stride: 1, count: 1 });
  return j.numpy.concatenate([first, partOfArray(j, x, { axis, from: 1, stride: 1, count: rest })], axis);
}

interface Window {
  readonly axis: number;
  readonly outputs: number;
  readonly window: number;
  readonly stride: number;
  readonly dilation: number;
}

/**
 * Replaces an axis by its windows: the axis then counts windows, and the last axis has each window's elements before
 * the features that were there. Cuts as few slices as it can. Owns the array.
 */
function unroll(j: Jax, x: JaxArray, { axis, outputs, window, stride, dilation }: Window): JaxArray {
  if (window === 1) return partOfArray(j, x, { axis, from: 0, stride, count: outputs });
  const last = x.shape.length - 1;
  const byElement = window <= outputs;
  const parts = Array.from({ length: byElement ? window : outputs }, (_, i) => {
    if (byElement) return partOfArray(j, x.ref, { axis, from: i * dilation, stride, count: outputs });
    const one = partOfArray(j, x.ref, { axis, from: i * stride, stride: dilation, count: window });
    const order = one.shape.map((_axis, d) => d).filter((d) => d !== axis);
    order.splice(last - 1, 0, axis);
    const features = at(one.shape, last) * window;
    const shape = one.shape.map((n, d) => (d === axis ? 1 : d === last ? features : n));
    return one.transpose(order).reshape(shape);
  });
  x.dispose();
  return j.numpy.concatenate(parts, byElement ? last : axis);
}

/** Above this many elements (256 MB) windows are not written out. */
const mostElements = 2 ** 26;
/** How many products a sum may be written out in, and how many groups one after the other. */
const mostTerms = 64;

/** A convolution on jax-js, with the lengths it has; padding from 0 on. */
interface Sizes {
  readonly params: ConvolutionParams;
  readonly shape: Shape;
  readonly rows: number;
  readonly window: readonly number[];
  readonly outputs: readonly number[];
  /** Features a group takes, and gives. */
  readonly takes: number;
  readonly gives: number;
}

/**
 * Convolution on jax-js, whose own is slow: by matrix products (some twenty times faster), where groups are thin by
 * products of slices (ten times). Padding must not be negative; owns the arrays.
 */
export function convolveArrays(
  j: Jax,
  x: JaxArray,
  w: JaxArray,
  params: ConvolutionParams,
  shape: Shape,
): JaxArray {
  const { lhsSpec, rhsSpec, outSpec, groups } = params;
  const [out, into, ...kernel] = rhsSpec as [number, number, ...number[]];
  const window = kernel.map((axis) => at(w.shape, axis));
  const outputs = outSpec.slice(2).map((axis) => at(shape, axis));
  const rows = at(x.shape, at(lhsSpec, 0)) * sizeOf(outputs);
  const [takes, gives] = [at(w.shape, into), at(w.shape, out) / groups];
  const sizes: Sizes = { params, shape, rows, window, outputs, takes, gives };
  if (groups === 1 && rows * sizeOf(window) * takes <= mostElements) return byProduct(j, x, w, sizes);
  if (groups > 1 && sizeOf(window) * takes <= mostTerms) return byTerms(j, x, w, sizes);
  if (groups > 1 && groups <= mostTerms && takes >= 4 && gives >= 4) return byGroup(j, x, w, sizes);
  const y = j.lax.convGeneralDilated(
    x.transpose([...lhsSpec]),
    w.transpose([...rhsSpec]),
    [...params.strides],
    params.padding.map(([low, high]): [number, number] => [low, high]),
    {
      lhsDilation: [...params.lhsDilation],
      rhsDilation: [...params.rhsDilation],
      featureGroupCount: groups,
    },
  );
  return y.transpose(outSpec.map((_, d) => outSpec.indexOf(d)));
}

/** The input as [batch, ...spatial, features], dilated and padded. */
function spreadInput(j: Jax, x: JaxArray, { lhsSpec, lhsDilation, padding }: ConvolutionParams): JaxArray {
  const [batch, features, ...spatial] = lhsSpec as [number, number, ...number[]];
  let array = x.transpose([batch, ...spatial, features]);
  lhsDilation.forEach((by, i) => {
    array = spreadArray(j, array, i + 1, by);
  });
  if (padding.flat().every((width) => width === 0)) return array;
  return j.numpy.pad(array, [[0, 0], ...padding.map(([a, b]): [number, number] => [a, b]), [0, 0]]);
}

/** A result whose axes stand [batch, ...spatial, features] as the convolution's result. */
function placed(y: JaxArray, { params: { outSpec }, shape, outputs }: Sizes): JaxArray {
  const order = [0, outputs.length + 1, ...outputs.map((_, i) => i + 1)];
  const [batch, features] = [at(shape, at(outSpec, 0)), at(shape, at(outSpec, 1))];
  return y
    .reshape([batch, ...outputs, features])
    .transpose(shape.map((_, d) => at(order, outSpec.indexOf(d))));
}

const kernelLast = (w: JaxArray, { rhsSpec }: ConvolutionParams): JaxArray =>
  w.transpose([...rhsSpec.slice(2), at(rhsSpec, 1), at(rhsSpec, 0)]);

/** Writes out all windows, each a row of a matrix. */
function byProduct(j: Jax, x: JaxArray, w: JaxArray, sizes: Sizes): JaxArray {
  const { params, rows, window, outputs, takes, gives } = sizes;
  let columns = spreadInput(j, x, params);
  for (let i = outputs.length - 1; i >= 0; i--)
    columns = unroll(j, columns, {
      axis: i + 1,
      outputs: at(outputs, i),
      window: at(window, i),
      stride: at(params.strides, i),
      dilation: at(params.rhsDilation, i),
    });
  const inner = sizeOf(window) * takes;
  const left = sizeOf(window) === 1 ? writtenOut(j, columns) : columns;
  const right = writtenOut(j, kernelLast(w, params));
  return placed(j.numpy.matmul(left.reshape([rows, inner]), right.reshape([inner, gives])), sizes);
}

/** Sums one product of arrays for each element of the window and feature of a group. */
function byTerms(j: Jax, x: JaxArray, w: JaxArray, sizes: Sizes): JaxArray {
  const { params, window, outputs, takes, gives } = sizes;
  const { groups, strides, rhsDilation } = params;
  const input = spreadInput(j, x, params);
  const split = input.reshape([...input.shape.slice(0, -1), groups, takes]);
  const weights = kernelLast(w, params).reshape([sizeOf(window), takes, groups, gives]);
  const terms = Array.from({ length: sizeOf(window) * takes }, (_, term) => {
    const [element, feature] = [Math.floor(term / takes), term % takes];
    let rest = element;
    let part = split.ref;
    for (let i = window.length - 1; i >= 0; i--) {
      const from = (rest % at(window, i)) * at(rhsDilation, i);
      rest = Math.floor(rest / at(window, i));
      part = partOfArray(j, part, { axis: i + 1, from, stride: at(strides, i), count: at(outputs, i) });
    }
    const one = partOfArray(j, part, { axis: window.length + 2, from: feature, stride: 1, count: 1 });
    return one.mul(weights.ref.slice(element, feature));
  });
  split.dispose();
  weights.dispose();
  return placed(
    terms.reduce((sum, term) => sum.add(term)),
    sizes,
  );
}

/** Each group as a convolution of its own. */
function byGroup(j: Jax, x: JaxArray, w: JaxArray, { params, shape, takes, gives }: Sizes): JaxArray {
  const { groups, lhsSpec, rhsSpec, outSpec } = params;
  const [from, to, result] = [at(lhsSpec, 1), at(rhsSpec, 0), at(outSpec, 1)];
  const parts = Array.from({ length: groups }, (_, g) =>
    convolveArrays(
      j,
      partOfArray(j, x.ref, { axis: from, from: g * takes, stride: 1, count: takes }),
      partOfArray(j, w.ref, { axis: to, from: g * gives, stride: 1, count: gives }),
      { ...params, groups: 1 },
      shape.map((n, d) => (d === result ? gives : n)),
    ),
  );
  x.dispose();
  w.dispose();
  return j.numpy.concatenate(parts, result);
}
