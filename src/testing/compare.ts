import { EspalierError } from "../core/index.ts";
import type { DType } from "../engine/index.ts";
import { isFloat } from "../engine/index.ts";
import type { Dense } from "./dense.ts";
import { sizeOf, typeText, unravel } from "./dense.ts";

/** What one element type's arithmetic can be off by, relative to the size of the numbers. */
const usual: Readonly<Record<string, number>> = { f64: 1e-11, f32: 1e-5, f16: 4e-3, bf16: 3e-2 };

export const usualTolerance = (dtype: DType): number => usual[dtype] ?? 0;

/** How far floats may be apart. */
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
