import { badOption, checkOptions } from "../np/arguments.ts";
import { floating, numberAs, operand, promoted, toFloat, toWide, type ValueLike } from "../np/operands.ts";
import { iota } from "../ops/constant.ts";
import { convert } from "../ops/convert.ts";
import { dotGeneral } from "../ops/dot.ts";
import * as ops from "../ops/elementwise.ts";
import { checkDType } from "../ops/rules.ts";
import { broadcastTo, reshape, transpose } from "../ops/shape.ts";
import { userError } from "../trace/location.ts";
import { type Shape, shapeText } from "../trace/type.ts";
import type { Value } from "../trace/value.ts";
import { softmaxOver } from "./softmax.ts";

/** Options of {@link dotProductAttention}. */
export interface AttentionOptions {
  /** A query sees keys up to its own position only. */
  readonly causal?: boolean;
  /** Booleans that repeat to [batch, heads, queries, keys]: true where a query may see a key. */
  readonly mask?: ValueLike;
  /** Added to the scaled products before the softmax; repeats to [batch, heads, queries, keys]. */
  readonly bias?: ValueLike;
  /** Factor of the products. Default: 1 / sqrt(dim). */
  readonly scale?: number;
}

type AttentionSizes = readonly [batch: number, length: number, heads: number, dim: number];

/**
 * Attention: every query's mean of the values, weighted by the softmax of its products with the keys. Queries are
 * [batch, length, heads, dim], keys and values [batch, length, heads, dim], where several heads of the queries may
 * share one of the keys (grouped queries). The softmax is in f32 at least. A query that may see no key gets zeros.
 *
 * @example
 * ```ts
 * const mixed = nn.dotProductAttention(q, k, v, { causal: true }); // shaped like q
 * ```
 */
export function dotProductAttention(
  query: ValueLike,
  key: ValueLike,
  value: ValueLike,
  options: AttentionOptions = {},
): Value {
  const op = "dotProductAttention";
  checkOptions(op, options, ["causal", "mask", "bias", "scale"]);
  const [q, k, v] = promoted(op, [query, key, value], toFloat) as [Value, Value, Value];
  checkShapes(op, q.shape, k.shape, v.shape);
  const [batch, queries, heads, dim] = q.shape as AttentionSizes;
  const [, keys, shared] = k.shape as AttentionSizes;
  const scale = options.scale ?? 1 / Math.sqrt(dim);
  if (typeof scale !== "number") throw badOption(op, "scale is no number", "give a JavaScript number");
  const products = convert(productsOf(q, k, heads / shared), toWide(q.dtype));
  const shape = [batch, heads, queries, keys];
  let logits = ops.mul(products, numberAs(op, scale, products.dtype, shape));
  if (options.bias !== undefined)
    logits = ops.add(logits, repeated(op, "bias", convert(floating(op, options.bias), logits.dtype), shape));
  const allowed = allowedOf(op, options, shape);
  const weights = convert(softmaxOver(logits, [3], allowed), q.dtype);
  return weighted(weights, v, heads / shared);
}

/** Products of queries and keys, [batch, heads, queries, keys]. */
function productsOf(q: Value, k: Value, group: number): Value {
  const [batch, queries, heads, dim] = q.shape as AttentionSizes;
  if (group === 1)
    return dotGeneral(q, k, { lhsContract: [3], rhsContract: [3], lhsBatch: [0, 2], rhsBatch: [0, 2] });
  const grouped = reshape(q, [batch, queries, heads / group, group, dim]);
  const products = dotGeneral(grouped, k, {
    lhsContract: [4],
    rhsContract: [3],
    lhsBatch: [0, 2],
    rhsBatch: [0, 2],
  });
  const keys = k.shape[1] as number;
  return reshape(transpose(products, [0, 1, 3, 2, 4]), [batch, heads, queries, keys]);
}

/** The values, weighted: [batch, queries, heads, dim]. */
function weighted(weights: Value, v: Value, group: number): Value {
  const [batch, heads, queries, keys] = weights.shape as AttentionSizes;
  const dim = v.shape[3] as number;
  if (group === 1)
    return transpose(
      dotGeneral(weights, v, { lhsContract: [3], rhsContract: [1], lhsBatch: [0, 1], rhsBatch: [0, 2] }),
      [0, 2, 1, 3],
    );
  const grouped = reshape(weights, [batch, heads / group, group, queries, keys]);
  const mixed = dotGeneral(grouped, v, {
    lhsContract: [4],
    rhsContract: [1],
    lhsBatch: [0, 1],
    rhsBatch: [0, 2],
  });
  return reshape(transpose(mixed, [0, 3, 1, 2, 4]), [batch, queries, heads, dim]);
}

function allowedOf(op: string, options: AttentionOptions, shape: Shape): Value | undefined {
  const plane = shape.slice(2);
  const causal = options.causal
    ? broadcastTo(ops.lessEqual(iota("i32", plane, 1), iota("i32", plane, 0)), shape)
    : undefined;
  if (options.mask === undefined) return causal;
  const given = operand(op, options.mask, "mask");
  checkDType(op, "the mask", given.type, "bool");
  const mask = repeated(op, "mask", given, shape);
  return causal ? ops.and(causal, mask) : mask;
}

function repeated(op: string, option: string, x: Value, shape: Shape): Value {
  const from = shape.length - x.ndim;
  if (from < 0 || x.shape.some((n, i) => n !== 1 && n !== shape[i + from]))
    throw userError(
      "SHAPE_MISMATCH",
      `${op}: ${option} has shape ${shapeText(x.shape)}, which does not repeat to ${shapeText(shape)}`,
      "its axes are batch, heads, queries, keys: each equal or 1",
    );
  return broadcastTo(x, shape);
}

function checkShapes(op: string, q: Shape, k: Shape, v: Shape): void {
  const given = `queries ${shapeText(q)}, keys ${shapeText(k)}, values ${shapeText(v)}`;
  const wrong = (what: string, fix: string) => userError("SHAPE_MISMATCH", `${op}: ${what}: ${given}`, fix);
  if (q.length !== 4 || k.length !== 4 || v.length !== 4)
    throw wrong("it takes four axes", "shape them [batch, length, heads, dim]");
  if (q[0] !== k[0] || k[0] !== v[0]) throw wrong("batches differ", "make axis 0 equally long");
  if (q[3] !== k[3]) throw wrong("queries and keys differ in dim", "make axis 3 of both equally long");
  if (k[1] !== v[1] || k[2] !== v[2])
    throw wrong("keys and values differ", "make their lengths and heads equal");
  if ((q[2] as number) % (k[2] as number) !== 0)
    throw wrong("heads do not fit", "the queries' heads must be a multiple of the keys' heads");
}
