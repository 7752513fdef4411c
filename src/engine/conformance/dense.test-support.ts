import { EspalierError } from "../../core/index.ts";
import { type DType, isFloat, type Shape } from "../index.ts";

/** Numbers with a shape in plain JavaScript, row by row: what samples are made of and references compute with. */
export interface Dense {
  readonly dtype: DType;
  readonly shape: Shape;
  readonly data: readonly number[];
}

export const sizeOf = (shape: Shape): number => shape.reduce((product, n) => product * n, 1);

/** `f32[2,3]` */
export const typeText = ({ dtype, shape }: Dense): string => `${dtype}[${shape.join(",")}]`;

const scratch = new Float32Array(1);
const scratchBits = new Uint32Array(scratch.buffer);

/** The number an element type holds in place of `value`: floats the nearest, integers the same lowest bits. */
export function rounded(dtype: DType, value: number): number {
  switch (dtype) {
    case "f64":
      return value;
    case "f32":
      return Math.fround(value);
    case "f16":
      return fitHalf(value);
    case "bf16":
      return fitBrain(value);
    case "i32":
      return value | 0;
    case "u32":
      return value >>> 0;
    case "u8":
      return value & 255;
    case "bool":
      return value === 0 ? 0 : 1;
  }
}

function fitBrain(value: number): number {
  if (!Number.isFinite(value)) return value;
  scratch[0] = value;
  const bits = scratchBits[0] as number;
  scratchBits[0] = (bits + 0x7fff + ((bits >>> 16) & 1)) & 0xffff0000;
  return scratch[0] as number;
}

/** 11 digits of precision down to 2^-14, then steps of 2^-24. */
function fitHalf(value: number): number {
  if (!Number.isFinite(value) || value === 0) return value;
  const exponent = Math.max(-14, Math.floor(Math.log2(Math.abs(value))));
  const step = 2 ** (exponent - 10);
  const result = roundToEven(value / step) * step;
  return Math.abs(result) >= 65520 ? Math.sign(value) * Number.POSITIVE_INFINITY : result;
}

/** The nearest whole number, halves to the even one. */
export function roundToEven(value: number): number {
  const low = Math.floor(value);
  const rest = value - low;
  if (rest !== 0.5) return rest < 0.5 ? low : low + 1;
  return low % 2 === 0 ? low : low + 1;
}

/** Numbers as an element type holds them. */
export const dense = (dtype: DType, shape: Shape, data: readonly number[]): Dense => ({
  dtype,
  shape,
  data: data.map((value) => rounded(dtype, value)),
});

/** Computes every element from its index. */
export function build(dtype: DType, shape: Shape, at: (index: readonly number[]) => number): Dense {
  return dense(dtype, shape, places(shape).map(at));
}

/** All indices of a shape in order; one empty index for a scalar. */
export function places(shape: Shape): (readonly number[])[] {
  return Array.from({ length: sizeOf(shape) }, (_, flat) => unravel(flat, shape));
}

/** The index of the element at a position. */
export function unravel(flat: number, shape: Shape): number[] {
  const index: number[] = [];
  let rest = flat;
  for (let d = shape.length - 1; d >= 0; d--) {
    const n = shape[d] as number;
    index[d] = rest % n;
    rest = Math.floor(rest / n);
  }
  return index;
}

/** The element at an index. */
export function element({ shape, data }: Dense, index: readonly number[]): number {
  let flat = 0;
  for (let d = 0; d < shape.length; d++) flat = flat * (shape[d] as number) + (index[d] as number);
  return data[flat] as number;
}

/** Another array whose elements are those of this one, moved round by `by` places; a lone one is changed. */
export function varied(x: Dense, by: number): Dense {
  const { dtype, shape, data } = x;
  if (by === 0) return x;
  if (data.length > 1)
    return dense(dtype, shape, [...data.slice(by % data.length), ...data.slice(0, by % data.length)]);
  const change = (value: number): number => {
    if (isFloat(dtype)) return value * (1 - by / 8) + by / 16;
    return dtype === "bool" ? (value + by) % 2 : value ^ by;
  };
  return dense(dtype, shape, data.map(change));
}

/** Arrays of one shape, one after the other along a new first axis. */
export function stacked(parts: readonly Dense[], shape: Shape = [parts.length]): Dense {
  const [first] = parts as readonly [Dense, ...Dense[]];
  return { dtype: first.dtype, shape: [...shape, ...first.shape], data: parts.flatMap((part) => part.data) };
}

/** The parts a stack was made of. */
export function unstacked(stack: Dense, axes = 1): Dense[] {
  const shape = stack.shape.slice(axes);
  const size = sizeOf(shape);
  return Array.from({ length: sizeOf(stack.shape.slice(0, axes)) }, (_, i) => ({
    dtype: stack.dtype,
    shape,
    data: stack.data.slice(i * size, (i + 1) * size),
  }));
}

/** The usual error of an element type's arithmetic, relative to the size of the numbers. */
const usual: Readonly<Record<string, number>> = { f64: 1e-11, f32: 1e-5, f16: 4e-3, bf16: 3e-2 };

export const usualTolerance = (dtype: DType): number => usual[dtype] ?? 0;

/** The distance that floats may have. */
export interface Closeness {
  /** Relative to the size of the number expected. */
  readonly tolerance: number;
  /** Sizes below this count as this. */
  readonly floor: number;
}

/** A failed check: what, where, and both numbers. */
export const failure = (message: string, cause?: unknown): EspalierError =>
  new EspalierError("CONFORMANCE", message, cause === undefined ? {} : { cause });

export function isClose(actual: number, expected: number, { tolerance, floor }: Closeness): boolean {
  if (Object.is(actual, expected) || actual === expected) return true;
  if (!Number.isFinite(expected)) return false;
  return Math.abs(actual - expected) <= tolerance * Math.max(floor, Math.abs(expected));
}

/** Fails where an array is not what it should be: integers, booleans and bits exactly, floats as close as said. */
export function expectSame(
  what: string,
  actual: Dense,
  expected: Dense,
  closeness?: Partial<Closeness>,
): void {
  const close = { tolerance: usualTolerance(expected.dtype), floor: 1e-30, ...closeness };
  if (typeText(actual) !== typeText(expected) || actual.data.length !== sizeOf(actual.shape))
    throw failure(`${what}: gives ${typeText(actual)} instead of ${typeText(expected)}`);
  const same = isFloat(expected.dtype)
    ? (a: number, b: number) => isClose(a, b, close)
    : (a: number, b: number) => a === b;
  const at = actual.data.findIndex((value, i) => !same(value, expected.data[i] as number));
  if (at < 0) return;
  const wrong = actual.data.filter((value, i) => !same(value, expected.data[i] as number)).length;
  throw failure(
    `${what}: element [${unravel(at, actual.shape).join(", ")}] is ${actual.data[at]} instead of ${expected.data[at]}` +
      ` (${wrong} of ${actual.data.length} elements differ)`,
  );
}

/** Fails where not all of several arrays are what they should be. */
export function expectAllSame(
  what: string,
  actual: readonly Dense[],
  expected: readonly Dense[],
  closeness?: Partial<Closeness>,
): void {
  if (actual.length !== expected.length)
    throw failure(`${what}: gives ${actual.length} results instead of ${expected.length}`);
  actual.forEach((result, i) => {
    const name = actual.length === 1 ? what : `${what}, result ${i}`;
    expectSame(name, result, expected[i] as Dense, closeness);
  });
}

const pattern = /^(f32|i32|u32|u8|bool)\[([\d,]*)\](.*)$/;
const words: Readonly<Record<string, number>> = {
  inf: Number.POSITIVE_INFINITY,
  "-inf": Number.NEGATIVE_INFINITY,
  nan: Number.NaN,
};

/** A tensor as fixtures write it: `f32[2,3] 0.5 -1 inf nan -0 2`; undefined for any other text. */
export function parseTensor(text: string): Dense | undefined {
  const [, dtype, shape, numbers] = pattern.exec(text) ?? [];
  if (dtype === undefined || shape === undefined || numbers === undefined) return undefined;
  const data = numbers.split(" ").filter((word) => word !== "");
  return dense(
    dtype as DType,
    shape
      .split(",")
      .filter((n) => n !== "")
      .map(Number),
    data.map((word) => words[word] ?? Number(word)),
  );
}
