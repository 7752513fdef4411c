import { type DType, isFloat } from "../trace/dtype.ts";
import type { Jax, JaxArray } from "../trace/op.ts";
import type { TensorType } from "../trace/type.ts";

/** jax-js's names; u8 is kept in uint32 and cut to 8 bits after every operation that could leave them. */
const names = {
  f32: "float32",
  f64: "float64",
  f16: "float16",
  bf16: "float32",
  i32: "int32",
  u32: "uint32",
  u8: "uint32",
  bool: "bool",
} as const;

export const jaxName = (dtype: DType): Jax["DType"][keyof Jax["DType"]] =>
  names[dtype] as Jax["DType"][keyof Jax["DType"]];

/** A scalar of an exact type, never a weakly typed JavaScript number. */
export function jaxScalar(j: Jax, value: number, dtype: DType): JaxArray {
  if (dtype === "bool") return j.numpy.array(value !== 0);
  if (Object.is(value, -0) && isFloat(dtype)) return negativeZero(j, dtype);
  return j.numpy.full([], value, { dtype: jaxName(dtype) });
}

/**
 * -0 as an element of an array in memory. jax-js finds compiled kernels by a hash in which the constants 0 and -0 are
 * equal, so that a program would get the one that an earlier program of the process had.
 */
const negativeZero = (j: Jax, dtype: DType): JaxArray =>
  j.numpy
    .array(Float32Array.of(-0, 1), { dtype: jaxName("f32") })
    .slice(0)
    .astype(jaxName(dtype));

/** Cuts the result of u8 arithmetic to 8 bits; other types pass. */
export const wrapU8 = (j: Jax, x: JaxArray, dtype: DType): JaxArray =>
  dtype === "u8" ? j.numpy.bitwiseAnd(x, jaxScalar(j, 255, "u8")) : x;

/** A tensor without elements. */
export const jaxEmpty = (j: Jax, type: TensorType): JaxArray =>
  j.numpy.broadcastTo(jaxScalar(j, 0, type.dtype), [...type.shape]);

/** An array from what `dataSync` of an array of that type gave. */
export function jaxFromRaw(j: Jax, data: ReturnType<JaxArray["dataSync"]>, type: TensorType): JaxArray {
  if (type.size === 0) return jaxEmpty(j, type);
  const shape = [...type.shape];
  if (type.dtype === "bool")
    return j.numpy.array(Int32Array.from(data as Int32Array), { shape, dtype: jaxName("i32") }).notEqual(0);
  return j.numpy.array(data.slice() as Float32Array<ArrayBuffer>, { shape, dtype: jaxName(type.dtype) });
}

/**
 * Makes jax-js compute an array before it is used. Under `jit` its sort and scatter kernels fail on what is only
 * another view (a reshape, a slice, a transpose) of an array, and padding a repeated scalar pads it with itself; an
 * operation that changes nothing ends the view.
 */
export const inMemory = (j: Jax, x: JaxArray): JaxArray => j.lax.stopGradient(x);
