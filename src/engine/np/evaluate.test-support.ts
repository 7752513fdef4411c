import { expect } from "vitest";
import { EspalierError, flatten, unflatten } from "../../core/index.ts";
import type { EngineName } from "../run/backend.ts";
import { compile } from "../run/compile.ts";
import type { Nested } from "../run/host.ts";
import { put } from "../run/put.ts";
import { Tensor } from "../run/tensor.ts";
import type { Value } from "../trace/value.ts";

/** What the math gave: the type as text, e.g. `f32[2,3]`, and the numbers as nested arrays. */
export interface Outcome {
  readonly type: string;
  readonly value: Nested;
}

/** A tree of values as a tree of what they came to. */
export type Outcomes<R> = R extends Value ? Outcome : { [K in keyof R]: Outcomes<R[K]> };

/** Compiles `fn`, runs it on an engine over f32 tensors made of `args` (or tensors already made), reads all results. */
export function evaluate<R>(
  engine: EngineName,
  fn: (...args: Value[]) => R,
  ...args: readonly (Nested | Tensor)[]
): Outcomes<R> {
  const tensors = args.map((arg) => (arg instanceof Tensor ? arg : put(arg, { engine })));
  const leaves: unknown[] = [];
  const shape = flatten(compile(fn, { engine })(...tensors), leaves);
  return unflatten(
    shape,
    leaves.map((leaf) => outcome(leaf as Tensor)),
  ) as Outcomes<R>;
}

function outcome(tensor: Tensor): Outcome {
  const flat = tensor.readSync();
  let next = 0;
  const write = (axis: number): Nested => {
    if (axis < tensor.ndim)
      return Array.from({ length: tensor.shape[axis] as number }, () => write(axis + 1));
    const number = flat[next++] as number;
    return tensor.dtype === "bool" ? number !== 0 : number;
  };
  return { type: tensor.type.text, value: write(0) };
}

/** Where `actual` leaves `expected` by more than `tolerance` (relative above 1), in words; "" where nowhere. */
export function difference(actual: Nested, expected: Nested, tolerance = 1e-6): string {
  if (Array.isArray(expected) || Array.isArray(actual)) {
    if (!Array.isArray(expected) || !Array.isArray(actual) || expected.length !== actual.length)
      return `${JSON.stringify(actual)} is not shaped like ${JSON.stringify(expected)}`;
    for (let i = 0; i < expected.length; i++) {
      const inner = difference(actual[i] as Nested, expected[i] as Nested, tolerance);
      if (inner) return `[${i}]${inner}`;
    }
    return "";
  }
  if (Object.is(actual, expected) || actual === expected) return "";
  const [a, b] = [Number(actual), Number(expected)];
  const near = typeof actual === "number" && Math.abs(a - b) <= tolerance * Math.max(1, Math.abs(b));
  return near ? "" : `: ${actual} instead of ${expected}`;
}

/** Expects every result to have the type and, within the tolerance, the numbers given for its name. */
export function expectAll(
  actual: Readonly<Record<string, Outcome>>,
  expected: Readonly<Record<string, readonly [type: string, value: Nested]>>,
  tolerance = 1e-6,
): void {
  const faults = Object.entries(expected).flatMap(([name, [type, value]]) => {
    const got = actual[name];
    if (got?.type !== type) return [`${name} is ${got?.type} instead of ${type}`];
    const fault = difference(got.value, value, tolerance);
    return fault ? [`${name}${fault}`] : [];
  });
  expect(faults).toEqual([]);
  expect(Object.keys(actual).sort()).toEqual(Object.keys(expected).sort());
}

/** Runs `fn` while tracing and gives the error it throws. */
export function errorOf(fn: (...args: Value[]) => unknown, ...args: readonly Nested[]): EspalierError {
  try {
    compile(fn as (...args: Value[]) => Value, { engine: "wasm" })(
      ...args.map((arg) => put(arg, { engine: "wasm" })),
    );
  } catch (error) {
    if (error instanceof EspalierError) return error;
    throw error;
  }
  throw new Error("nothing was thrown");
}
