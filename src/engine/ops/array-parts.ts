import type { DType } from "../trace/dtype.ts";
import type { Jax, JaxArray } from "../trace/op.ts";
import { jaxName, jaxScalar } from "../wasm/dtype.ts";
import { at, dilated } from "./convolution.ts";

/** Elements `from`, `from + stride`, ... along an axis, `count` of them. */
export interface ArrayPart {
  readonly axis: number;
  readonly from: number;
  readonly stride: number;
  readonly count: number;
}

/** Some elements of an axis: fills up to whole groups of `stride` and keeps the first of each. Owns the array. */
export function partOfArray(j: Jax, x: JaxArray, { axis, from, stride, count }: ArrayPart): JaxArray {
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

/** Elements before and behind each axis. */
type Widths = readonly (readonly [before: number, behind: number])[];

/** Adds elements of one value around an array; jax-js adds zeros alone. Owns the array. */
export function padArray(j: Jax, x: JaxArray, widths: Widths, value: number, dtype: DType): JaxArray {
  if (widths.flat().every((n) => n === 0)) return x;
  const pad = (array: JaxArray) => j.numpy.pad(array, widths as [number, number][]);
  if (value === 0 && dtype !== "bool") return pad(x);
  const inside = pad(j.numpy.full(x.shape, 1, { dtype: jaxName("i32") })).notEqual(0);
  const padded = dtype === "bool" ? pad(x.astype(jaxName("i32"))).notEqual(0) : pad(x);
  return j.numpy.where(inside, padded, jaxScalar(j, value, dtype));
}

/** Puts `by - 1` elements of one value between the elements of an axis. Owns the array. */
export function spreadArray(
  j: Jax,
  x: JaxArray,
  axis: number,
  by: number,
  value = 0,
  dtype: DType = "f32",
): JaxArray {
  const n = at(x.shape, axis);
  if (by === 1 || n <= 1) return x;
  const single = x.shape.flatMap((m, d) => (d === axis ? [m, 1] : [m]));
  const widths = single.map((_, d) => [0, d === axis + 1 ? by - 1 : 0] as const);
  const wide = padArray(j, x.reshape(single), widths, value, dtype);
  const joined = wide.reshape(single.toSpliced(axis, 2, n * by));
  return partOfArray(j, joined, { axis, from: 0, stride: 1, count: dilated(n, by) });
}

/** An axis and the windows that move over it. */
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
export function unroll(j: Jax, x: JaxArray, { axis, outputs, window, stride, dilation }: Window): JaxArray {
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
