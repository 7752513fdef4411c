/** The element types of tensors. `f64`, `f16` and `bf16` exist only where the engine has them. */
export type DType = "f32" | "f64" | "f16" | "bf16" | "i32" | "u32" | "u8" | "bool";

/** Every element type there is. */
export const dtypes: readonly DType[] = ["f32", "f64", "f16", "bf16", "i32", "u32", "u8", "bool"];

const bytes: Readonly<Record<DType, number>> = {
  f32: 4,
  f64: 8,
  f16: 2,
  bf16: 2,
  i32: 4,
  u32: 4,
  u8: 1,
  bool: 1,
};

/** Bytes one element takes. */
export const byteWidth = (dtype: DType): number => bytes[dtype];
export const isFloat = (dtype: DType): boolean =>
  dtype === "f32" || dtype === "f64" || dtype === "f16" || dtype === "bf16";
export const isInteger = (dtype: DType): boolean => dtype === "i32" || dtype === "u32" || dtype === "u8";
export const isUnsigned = (dtype: DType): boolean => dtype === "u32" || dtype === "u8";

/** Lower promotes to higher; the two 16-bit floats meet in f32, as they hold different numbers. */
const rank: Readonly<Record<DType, number>> = {
  bool: 0,
  u8: 1,
  u32: 2,
  i32: 3,
  f16: 4,
  bf16: 4,
  f32: 5,
  f64: 6,
};

/** The element type both can be converted to: `promote("i32", "f32")` is `"f32"`. */
export function promote(a: DType, b: DType): DType {
  if (a === b) return a;
  if (rank[a] === rank[b]) return "f32";
  return rank[a] > rank[b] ? a : b;
}

/** The smallest and largest finite numbers of a type, for reductions over nothing and for masks. */
export function limits(dtype: DType): { readonly min: number; readonly max: number } {
  switch (dtype) {
    case "i32":
      return { min: -2147483648, max: 2147483647 };
    case "u32":
      return { min: 0, max: 4294967295 };
    case "u8":
      return { min: 0, max: 255 };
    case "bool":
      return { min: 0, max: 1 };
    case "f16":
      return { min: -65504, max: 65504 };
    case "f64":
      return { min: -Number.MAX_VALUE, max: Number.MAX_VALUE };
    case "bf16":
      return { min: -3.3895313892515355e38, max: 3.3895313892515355e38 };
    case "f32":
      return { min: -3.4028234663852886e38, max: 3.4028234663852886e38 };
  }
}
