import type { DType } from "../trace/dtype.ts";
import { Value } from "../trace/value.ts";
import type { Axis, AxisOptions, ReduceOptions } from "./arguments.ts";
import * as arithmetic from "./arithmetic.ts";
import { at, type Place } from "./at.ts";
import * as comparison from "./comparison.ts";
import { astype } from "./conversion.ts";
import * as exponential from "./elementary.ts";
import { cos, power, sin, tanh } from "./elementary.ts";
import { slice, take } from "./indexing.ts";
import type { AlongOptions } from "./joining.ts";
import type { ValueLike } from "./operands.ts";
import { dot, matmul } from "./product.ts";
import type { ArgOptions, SumOptions, VarOptions } from "./reduction.ts";
import * as reduction from "./reduction.ts";
import * as statistics from "./reduction.ts";
import { clip } from "./rounding.ts";
import type { Index } from "./selection.ts";
import { expandDims, ravel, reshape, squeeze, transpose } from "./shape.ts";

/** Functions of `np` as methods of values: `x.mul(2).sum({ axis: 0 })`. Each is the function of the same meaning. */
export interface ValueMethods {
  add(y: ValueLike): Value;
  sub(y: ValueLike): Value;
  mul(y: ValueLike): Value;
  div(y: ValueLike): Value;
  pow(y: ValueLike): Value;
  neg(): Value;
  matmul(y: ValueLike): Value;
  /** Short for `matmul`. */
  mm(y: ValueLike): Value;
  dot(y: ValueLike): Value;
  sum(options?: SumOptions): Value;
  mean(options?: SumOptions): Value;
  prod(options?: SumOptions): Value;
  max(options?: ReduceOptions): Value;
  min(options?: ReduceOptions): Value;
  var(options?: VarOptions): Value;
  std(options?: VarOptions): Value;
  argmax(options?: ArgOptions): Value;
  argmin(options?: ArgOptions): Value;
  reshape(...shape: readonly number[] | readonly [readonly number[]]): Value;
  transpose(...axes: readonly number[] | readonly [readonly number[]]): Value;
  /** The axes in reverse order. */
  readonly T: Value;
  ravel(): Value;
  flatten(): Value;
  squeeze(options?: AxisOptions): Value;
  expandDims(axis: Axis): Value;
  astype(dtype: DType): Value;
  exp(): Value;
  log(): Value;
  sqrt(): Value;
  square(): Value;
  abs(): Value;
  tanh(): Value;
  sin(): Value;
  cos(): Value;
  clip(min?: ValueLike, max?: ValueLike): Value;
  greater(y: ValueLike): Value;
  greaterEqual(y: ValueLike): Value;
  less(y: ValueLike): Value;
  lessEqual(y: ValueLike): Value;
  equal(y: ValueLike): Value;
  notEqual(y: ValueLike): Value;
  slice(...indices: readonly Index[]): Value;
  at(index: Index | readonly Index[]): Place;
  take(indices: ValueLike | readonly number[], options?: AlongOptions): Value;
}

/** Numbers one by one, or all in one list. */
const listed = (numbers: readonly (number | readonly number[])[]): readonly number[] => numbers.flat();

/** Each method as a function of the value it is called on. */
const functions = {
  add: arithmetic.add,
  sub: arithmetic.subtract,
  mul: arithmetic.multiply,
  div: arithmetic.divide,
  pow: power,
  neg: arithmetic.negative,
  matmul,
  mm: matmul,
  dot,
  sum: reduction.sum,
  mean: reduction.mean,
  prod: reduction.prod,
  max: reduction.max,
  min: reduction.min,
  var: statistics.var,
  std: statistics.std,
  argmax: reduction.argmax,
  argmin: reduction.argmin,
  reshape: (x: Value, ...shape: readonly (number | readonly number[])[]) => reshape(x, listed(shape)),
  transpose: (x: Value, ...axes: readonly (number | readonly number[])[]) =>
    transpose(x, axes.length === 0 ? undefined : listed(axes)),
  ravel,
  flatten: ravel,
  squeeze,
  expandDims,
  astype,
  exp: exponential.exp,
  log: exponential.log,
  sqrt: exponential.sqrt,
  square: arithmetic.square,
  abs: arithmetic.absolute,
  tanh,
  sin,
  cos,
  clip,
  greater: comparison.greater,
  greaterEqual: comparison.greaterEqual,
  less: comparison.less,
  lessEqual: comparison.lessEqual,
  equal: comparison.equal,
  notEqual: comparison.notEqual,
  slice,
  at,
  take,
} satisfies {
  [K in Exclude<keyof ValueMethods, "T">]: (x: Value, ...rest: never[]) => ReturnType<ValueMethods[K]>;
};

/**
 * Gives values their methods. Called by everything that starts a trace, because values are made in traces alone, and
 * because a call on import would be dropped by bundlers: the package promises that its modules have no side effects.
 */
export function installMethods(): void {
  if (Object.hasOwn(Value.prototype, "T")) return;
  for (const [name, f] of Object.entries(functions)) {
    const apply = f as (x: Value, ...rest: unknown[]) => unknown;
    Object.defineProperty(Value.prototype, name, {
      configurable: true,
      writable: true,
      value: function (this: Value, ...rest: unknown[]) {
        return apply(this, ...rest);
      },
    });
  }
  Object.defineProperty(Value.prototype, "T", {
    configurable: true,
    get(this: Value) {
      return transpose(this);
    },
  });
}
