import { type Axis, axesOf, checkOptions } from "../np/arguments.ts";
import { broadcastShapes, filled, floating, operand, type ValueLike, wide } from "../np/operands.ts";
import * as ops from "../ops/elementwise.ts";
import { oneForZero, shiftedExps } from "../ops/exponentials.ts";
import { unreduce } from "../ops/reduce.ts";
import { checkDType } from "../ops/rules.ts";
import { broadcastTo } from "../ops/shape.ts";
import type { Value } from "../trace/value.ts";

/** Options of {@link softmax} and {@link logSoftmax}. */
export interface SoftmaxOptions {
  /** The axis, or axes, that sum to 1. Default: the last. */
  readonly axis?: Axis;
  /** Elements where it is false count as minus infinity. If all are false, all probabilities are 0. */
  readonly where?: ValueLike;
}

/** exp(x - max(x)) and its sums over axes; what `where` leaves out counts as minus infinity. */
function countedExps(x: Value, axes: readonly number[], where: Value | undefined) {
  if (!where) return shiftedExps(x, axes, false);
  const counted = shiftedExps(ops.select(where, x, filled(x, Number.NEGATIVE_INFINITY)), axes, true);
  return { ...counted, sums: oneForZero(counted.sums) };
}

/** Softmax of a float value over axes, computed in f32 at least. */
export const softmaxOver = (x: Value, axes: readonly number[], where?: Value): Value =>
  wide(x, (v) => {
    const { exps, sums } = countedExps(v, axes, where);
    return ops.mul(exps, unreduce(ops.div(filled(sums, 1), sums), v, axes));
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
    const { shifted, sums } = countedExps(v, axes, where);
    return ops.sub(shifted, unreduce(ops.log(sums), v, axes));
  });
}
