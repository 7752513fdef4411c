/** The element types of tensors. `f64`, `f16` and `bf16` exist only where the engine has them. */
export type DType = "f32" | "f64" | "f16" | "bf16" | "i32" | "u32" | "u8" | "bool";

interface DTypeRow {
  readonly kind: "float" | "signed" | "unsigned" | "bool";
  /** Bytes that one element takes. */
  readonly bytes: number;
  /** Lower promotes to higher; the two 16-bit floats meet in f32, as they hold different numbers. */
  readonly rank: number;
  /** The smallest and largest finite numbers. */
  readonly min: number;
  readonly max: number;
}

const table: Readonly<Record<DType, DTypeRow>> = {
  f32: { kind: "float", bytes: 4, rank: 5, min: -3.4028234663852886e38, max: 3.4028234663852886e38 },
  f64: { kind: "float", bytes: 8, rank: 6, min: -Number.MAX_VALUE, max: Number.MAX_VALUE },
  f16: { kind: "float", bytes: 2, rank: 4, min: -65504, max: 65504 },
  bf16: { kind: "float", bytes: 2, rank: 4, min: -3.3895313892515355e38, max: 3.3895313892515355e38 },
  i32: { kind: "signed", bytes: 4, rank: 3, min: -2147483648, max: 2147483647 },
  u32: { kind: "unsigned", bytes: 4, rank: 2, min: 0, max: 4294967295 },
  u8: { kind: "unsigned", bytes: 1, rank: 1, min: 0, max: 255 },
  bool: { kind: "bool", bytes: 1, rank: 0, min: 0, max: 1 },
};

/** Every element type there is. */
export const dtypes = Object.keys(table) as readonly DType[];

/** Bytes one element takes. */
export const byteWidth = (dtype: DType): number => table[dtype].bytes;

/** Undefined for what is no element type: users may write anything. */
const kindOf = (dtype: DType): DTypeRow["kind"] | undefined => table[dtype]?.kind;
export const isFloat = (dtype: DType): boolean => kindOf(dtype) === "float";
export const isUnsigned = (dtype: DType): boolean => kindOf(dtype) === "unsigned";
export const isInteger = (dtype: DType): boolean => kindOf(dtype) === "signed" || isUnsigned(dtype);

/** The element type both can be converted to: `promote("i32", "f32")` is `"f32"`. */
export function promote(a: DType, b: DType): DType {
  if (a === b) return a;
  const [rank, other] = [table[a].rank, table[b].rank];
  if (rank === other) return "f32";
  return rank > other ? a : b;
}

/** The smallest and largest finite numbers of a type. */
export const limits = (dtype: DType): { readonly min: number; readonly max: number } => table[dtype];

/** What every number of a type is at least, and at most: for reductions over nothing and for masks. */
export const lowest = (dtype: DType): number =>
  isFloat(dtype) ? Number.NEGATIVE_INFINITY : table[dtype].min;
export const highest = (dtype: DType): number =>
  isFloat(dtype) ? Number.POSITIVE_INFINITY : table[dtype].max;
