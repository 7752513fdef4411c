import { badOption, didYouMean, EspalierError, shown } from "../../core/index.ts";
import {
  type Device,
  type DType,
  type EngineChoice,
  type HostArray,
  put,
  type Tensor,
} from "../../engine/index.ts";
import type { Field } from "../../losses/index.ts";

/** Where tensors are put. */
export interface Where {
  readonly engine?: EngineChoice | undefined;
  readonly device?: number | Device | undefined;
}

/** A field of experience in JavaScript's memory: so many entries of one size, one after the other. */
export interface HostField {
  readonly name: string;
  readonly field: Field;
  /** Numbers in an entry. */
  readonly size: number;
  readonly data: HostArray;
}

export function hostFields(
  kind: string,
  fields: Readonly<Record<string, Field>>,
  entries: number,
): readonly HostField[] {
  const all = Object.entries(fields);
  if (all.length === 0) throw badOption(kind, "there are no fields", "say what is to be kept");
  return all.map(([name, field]) => {
    const size = field.shape.reduce((a, b) => a * b, 1);
    if (!(Number.isInteger(size) && size > 0))
      throw badOption(
        kind,
        `the field "${name}" has the shape ${shown(field.shape)}`,
        "use whole numbers from 1 on",
      );
    return { name, field, size, data: hostArray(field.dtype, entries * size) };
  });
}

/** Numbers of an element type as `put` takes them. */
export function hostArray(dtype: DType, length: number): HostArray {
  if (dtype === "i32") return new Int32Array(length);
  if (dtype === "u32") return new Uint32Array(length);
  if (dtype === "u8" || dtype === "bool") return new Uint8Array(length);
  return dtype === "f64" ? new Float64Array(length) : new Float32Array(length);
}

/** On the device: so many entries along the axes in front. */
export const placed = (
  { field }: HostField,
  data: HostArray,
  axes: readonly number[],
  { engine, device }: Where,
): Tensor =>
  put(data, {
    shape: [...axes, ...field.shape],
    dtype: field.dtype,
    ...(engine !== undefined && { engine }),
    ...(device !== undefined && { device }),
  });

/** The numbers given for a field; an error where there are none, or not as many as wanted. */
export function given(
  kind: string,
  numbers: Readonly<Record<string, ArrayLike<number>>>,
  { name, size }: HostField,
  entries: number,
): ArrayLike<number> {
  const found = numbers[name];
  if (found?.length === entries * size) return found;
  throw new EspalierError(
    "SHAPE_MISMATCH",
    found === undefined
      ? `${kind}: the field "${name}" is missing${didYouMean(name, Object.keys(numbers))}`
      : `${kind}: the field "${name}" has ${found.length} numbers, and ${entries * size} are wanted`,
    { fix: `give ${entries} times ${size} numbers for "${name}"` },
  );
}

/** The first entries of every field, as they are now. */
export const saved = (fields: readonly HostField[], entries: number): Readonly<Record<string, HostArray>> =>
  Object.fromEntries(fields.map(({ name, size, data }) => [name, data.slice(0, entries * size)]));

/** Takes saved entries over; nothing changes where they do not fit. */
export function restored(kind: string, fields: readonly HostField[], state: unknown, entries: number): void {
  const arrays = (state ?? {}) as Readonly<Record<string, unknown>>;
  for (const { name, size, data } of fields) {
    const array = arrays[name];
    const fits = ArrayBuffer.isView(array) && array.constructor === data.constructor;
    if (!fits || (array as HostArray).length !== entries * size)
      throw new EspalierError("STATE_MISMATCH", `${kind}: the state's field "${name}" does not fit`, {
        fix: "restore what a buffer with the same fields saved",
      });
  }
  for (const { name, data } of fields) data.set(arrays[name] as HostArray);
}

/** Copies some entries of a field to a place. */
export function gatherEntries(
  { size, data }: HostField,
  rows: Uint32Array,
  out: HostArray,
  place: number,
): void {
  let target = place;
  for (let i = 0; i < rows.length; i++) {
    const source = (rows[i] as number) * size;
    for (let j = 0; j < size; j++) out[target++] = data[source + j] as number;
  }
}
