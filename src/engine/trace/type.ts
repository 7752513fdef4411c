import { byteWidth, type DType } from "./dtype.ts";

/** The lengths of an array's axes; none for a scalar. */
export type Shape = readonly number[];

/**
 * Element type and shape of a tensor or traced value. Interned: two equal types are the same object, so that a
 * compiled function recognises its arguments by comparing references.
 */
export interface TensorType {
  readonly dtype: DType;
  readonly shape: Shape;
  readonly size: number;
  readonly bytes: number;
  /** `f32[2,3]` */
  readonly text: string;
}

const interned = new Map<string, TensorType>();

/** The one type object for this element type and shape. */
export function tensorType(dtype: DType, shape: Shape): TensorType {
  const text = `${dtype}[${shape.join(",")}]`;
  const known = interned.get(text);
  if (known) return known;
  const size = sizeOf(shape);
  const type: TensorType = Object.freeze({
    dtype,
    shape: Object.freeze([...shape]),
    size,
    bytes: size * byteWidth(dtype),
    text,
  });
  interned.set(text, type);
  return type;
}

/** Number of elements of a tensor of this shape. */
export const sizeOf = (shape: Shape): number => shape.reduce((product, n) => product * n, 1);

export const shapeText = (shape: Shape): string => `[${shape.join(", ")}]`;

export const sameDims = (a: Shape, b: Shape): boolean =>
  a.length === b.length && a.every((n, i) => n === b[i]);
