import type { DType } from "../../engine/index.ts";

/** The names that safetensors gives to our element types. */
export const nameOf: Readonly<Record<DType, string>> = {
  f32: "F32",
  f64: "F64",
  f16: "F16",
  bf16: "BF16",
  i32: "I32",
  u32: "U32",
  u8: "U8",
  bool: "BOOL",
};

const ours = new Map(Object.entries(nameOf).map(([dtype, name]) => [name, dtype as DType]));

/** Bytes an element takes, for every type of the format whose elements fill whole bytes: files of others list too. */
const widths: Readonly<Record<string, number>> = {
  BOOL: 1,
  U8: 1,
  I8: 1,
  F8_E4M3: 1,
  F8_E5M2: 1,
  F8_E8M0: 1,
  F8_E4M3FNUZ: 1,
  F8_E5M2FNUZ: 1,
  I16: 2,
  U16: 2,
  F16: 2,
  BF16: 2,
  I32: 4,
  U32: 4,
  F32: 4,
  I64: 8,
  U64: 8,
  F64: 8,
  C64: 8,
};

export const widthOf = (name: string): number | undefined =>
  Object.hasOwn(widths, name) ? widths[name] : undefined;

/** Our element type of that name, or undefined where we have none. */
export const dtypeNamed = (name: string): DType | undefined => ours.get(name);
