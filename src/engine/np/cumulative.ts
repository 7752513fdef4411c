import { convert } from "../ops/convert.ts";
import * as ops from "../ops/cumulative.ts";
import { checkAxis } from "../ops/rules.ts";
import { reshape } from "../ops/shape.ts";
import type { Value } from "../trace/value.ts";
import type { AlongOptions } from "./joining.ts";
import type { Choose } from "./operands.ts";
import { operand, toFloat, toNumber, wide } from "./operands.ts";
import type { ValueLike } from "./value.ts";

/** Options of cumulative functions. */
export interface CumulativeOptions extends AlongOptions {
  /** From each element to the end, instead of from the start to each. */
  readonly reverse?: boolean | undefined;
}

function along(
  op: string,
  x: ValueLike,
  options: CumulativeOptions,
  choose: Choose,
  f: (x: Value, axis: number, reverse?: boolean) => Value,
): Value {
  const given = operand(op, x);
  const value = options.axis === undefined ? reshape(given, [given.size]) : given;
  const axis = checkAxis(op, options.axis ?? 0, value.ndim);
  return wide(convert(value, choose(value.dtype)), (v) => f(v, axis, options.reverse));
}

/** Sums of all elements up to each along an axis; without one, of all elements in order. */
export const cumsum = (x: ValueLike, options: CumulativeOptions = {}): Value =>
  along("cumsum", x, options, toNumber, ops.cumsum);

/** Products of all elements up to each along an axis; without one, of all elements in order. */
export const cumprod = (x: ValueLike, options: CumulativeOptions = {}): Value =>
  along("cumprod", x, options, toNumber, ops.cumprod);

/** The largest element up to each along an axis; without one, of all elements in order. */
export const cummax = (x: ValueLike, options: CumulativeOptions = {}): Value =>
  along("cummax", x, options, toNumber, ops.cummax);

/** The smallest element up to each along an axis; without one, of all elements in order. */
export const cummin = (x: ValueLike, options: CumulativeOptions = {}): Value =>
  along("cummin", x, options, toNumber, ops.cummin);

/** The logsumexp of all elements up to each along an axis; without one, of all elements in order. */
export const cumlogsumexp = (x: ValueLike, options: CumulativeOptions = {}): Value =>
  along("cumlogsumexp", x, options, toFloat, ops.cumlogsumexp);
