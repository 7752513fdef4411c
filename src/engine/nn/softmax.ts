import type { Axis } from "../np/axes.ts";
import { axesOf } from "../np/axes.ts";
import { broadcastShapes } from "../np/broadcast.ts";
import { filled, floating, operand, wide } from "../np/operands.ts";
import { checkOptions } from "../np/options.ts";
import type { ValueLike } from "../np/value.ts";
import * as ops from "../ops/elementwise.ts";
import { reduceMax, reduceSum } from "../ops/reduce.ts";
import { checkDType } from "../ops/rules.ts";
import { broadcastInDim, broadcastTo } from "../ops/shape.ts";
import type { Value } from "../trace/value.ts";

/** Options of {@link softmax} and {@link logSoftmax}. */
export interface SoftmaxOptions {
  /** The axis, or axes, that sum to 1. Default: the last. */
  readonly axis?: Axis;
  /** Elements where it is false count as minus infinity. If all are false, all probabilities are 0. */
  readonly where?: ValueLike;
}

interface Shifted {
  /** The elements less the largest of them, minus infinity where they do not count. */
  readonly shifted: Value;
  readonly exps: Value;
  /** The sums of the exponentials, without the axes. */
  readonly sums: Value;
  /** Repeats over the axes what has lost them. */
  readonly spread: (y: Value) => Value;
}

/** exp(x - max(x)) and its sums; the largest counts as a constant, as it falls out of every result. */
function shiftedExps(x: Value, axes: readonly number[], where: Value | undefined): Shifted {
  const kept = x.shape.map((_, i) => i).filter((i) => !axes.includes(i));
  const spread = (y: Value) => broadcastInDim(y, x.shape, kept);
  const counted = where ? ops.select(where, x, filled(x, Number.NEGATIVE_INFINITY)) : x;
  const largest = ops.stopGradient(reduceMax(counted, axes));
  // Where nothing counts the largest is minus infinity, and minus infinity less itself is not a number.
  const shift = where ? ops.select(ops.isFiniteValue(largest), largest, filled(largest, 0)) : largest;
  const shifted = ops.sub(counted, spread(shift));
  const exps = ops.exp(shifted);
  const sums = reduceSum(exps, axes);
  if (!where) return { shifted, exps, sums, spread };
  const none = ops.equal(sums, filled(sums, 0));
  return { shifted, exps, sums: ops.select(none, filled(sums, 1), sums), spread };
}

/** Softmax of a float value over axes, computed in f32 at least. */
export const softmaxOver = (x: Value, axes: readonly number[], where?: Value): Value =>
  wide(x, (v) => {
    const { exps, sums, spread } = shiftedExps(v, axes, where);
    return ops.mul(exps, spread(ops.div(filled(sums, 1), sums)));
  });

function prepare(op: string, input: ValueLike, options: SoftmaxOptions) {
  checkOptions(op, options, ["axis", "where"]);
  const x = floating(op, input);
  const axes = axesOf(op, options.axis ?? -1, x.ndim);
  if (options.where === undefined) return { x, axes, where: undefined };
  const where = operand(op, options.where, "where");
  checkDType(op, "where", where.type, "bool");
  const shape = broadcastShapes(op, x.shape, where.shape);
  return { x: broadcastTo(x, shape), axes, where: broadcastTo(where, shape) };
}

/**
 * exp(x) / sum(exp(x)) along an axis, without overflow.
 *
 * @example
 * ```ts
 * const probabilities = nn.softmax(logits, { axis: -1, where: allowed });
 * ```
 */
export function softmax(input: ValueLike, options: SoftmaxOptions = {}): Value {
  const { x, axes, where } = prepare("softmax", input, options);
  return softmaxOver(x, axes, where);
}

/**
 * log(softmax(x)) along an axis, which keeps its digits where probabilities are close to 0.
 *
 * @example
 * ```ts
 * const logProbabilities = nn.logSoftmax(logits);
 * ```
 */
export function logSoftmax(input: ValueLike, options: SoftmaxOptions = {}): Value {
  const { x, axes, where } = prepare("logSoftmax", input, options);
  return wide(x, (v) => {
    const { shifted, sums, spread } = shiftedExps(v, axes, where);
    return ops.sub(shifted, spread(ops.log(sums)));
  });
}
