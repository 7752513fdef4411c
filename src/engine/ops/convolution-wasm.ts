import type { Jax, JaxArray } from "../trace/op.ts";
import { type Shape, sizeOf } from "../trace/type.ts";
import { inMemory } from "../wasm/dtype.ts";
import { padArray, partOfArray, spreadArray, unroll } from "./array-parts.ts";
import { at, type ConvolutionParams } from "./convolution.ts";

/** Above this many elements (256 MB) windows are not written out. */
const mostElements = 2 ** 26;
/** Most products that a sum is unrolled into, and most groups in sequence. */
const mostTerms = 64;

/** A convolution on jax-js, with the lengths it has; padding from 0 on. */
interface ConvolutionSizes {
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
  const sizes: ConvolutionSizes = { params, shape, rows, window, outputs, takes, gives };
  if (groups === 1 && rows * sizeOf(window) * takes <= mostElements) return byProduct(j, x, w, sizes);
  const spread = params.lhsDilation.some((by) => by > 1);
  if (groups > 1 && !spread && sizeOf(window) * takes <= mostTerms) return byTerms(j, x, w, sizes);
  if (groups > 1 && groups <= mostTerms && takes >= 4 && gives >= 4) return byGroup(j, x, w, sizes);
  const y = j.lax.convGeneralDilated(
    inMemory(j, x).transpose([...lhsSpec]),
    inMemory(j, w).transpose([...rhsSpec]),
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

/**
 * The input as [batch, ...spatial, features], dilated and padded. It is put in memory before and after it is dilated:
 * jax-js may read the wrong elements of many views upon each other.
 */
function spreadInput(j: Jax, x: JaxArray, { lhsSpec, lhsDilation, padding }: ConvolutionParams): JaxArray {
  const [batch, features, ...spatial] = lhsSpec as [number, number, ...number[]];
  let array = inMemory(j, x.transpose([batch, ...spatial, features]));
  lhsDilation.forEach((by, i) => {
    array = spreadArray(j, array, i + 1, by);
  });
  array = padArray(j, array, [[0, 0], ...padding, [0, 0]], 0, "f32");
  return lhsDilation.some((by) => by > 1) ? inMemory(j, array) : array;
}

/** A result whose axes stand [batch, ...spatial, features] as the convolution's result. */
function placed(y: JaxArray, { params: { outSpec }, shape, outputs }: ConvolutionSizes): JaxArray {
  const order = [0, outputs.length + 1, ...outputs.map((_, i) => i + 1)];
  const [batch, features] = [at(shape, at(outSpec, 0)), at(shape, at(outSpec, 1))];
  return y
    .reshape([batch, ...outputs, features])
    .transpose(shape.map((_, d) => at(order, outSpec.indexOf(d))));
}

const kernelLast = (w: JaxArray, { rhsSpec }: ConvolutionParams): JaxArray =>
  w.transpose([...rhsSpec.slice(2), at(rhsSpec, 1), at(rhsSpec, 0)]);

/** Writes out all windows, each a row of a matrix. */
function byProduct(j: Jax, x: JaxArray, w: JaxArray, sizes: ConvolutionSizes): JaxArray {
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
  // Products over anything read through a view are slow, twenty times and more.
  const [left, right] = [inMemory(j, columns), inMemory(j, kernelLast(w, params))];
  return placed(j.numpy.matmul(left.reshape([rows, inner]), right.reshape([inner, gives])), sizes);
}

/** Sums one product of arrays for each element of the window and feature of a group. */
function byTerms(j: Jax, x: JaxArray, w: JaxArray, sizes: ConvolutionSizes): JaxArray {
  const { params, window, outputs, takes, gives } = sizes;
  const { groups, strides, rhsDilation } = params;
  // One element more than is used, as only what is padded is in memory before.
  const more = params.padding.map(([low, high], i) => [low, i === 0 ? high + 1 : high] as const);
  const input = spreadInput(j, x, { ...params, padding: more });
  const split = input.reshape([...input.shape.slice(0, -1), groups, takes]);
  const kernel = inMemory(j, kernelLast(w, params)).reshape([sizeOf(window), takes, groups, gives]);
  const weights = j.numpy.pad(kernel, [
    [0, 1],
    [0, 0],
    [0, 0],
    [0, 0],
  ]);
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
function byGroup(
  j: Jax,
  x: JaxArray,
  w: JaxArray,
  { params, shape, takes, gives }: ConvolutionSizes,
): JaxArray {
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
