import { customGradient, nn, np, type Shape, stopGradient, type Value } from "../../engine/index.ts";
import { layerError, shapeText } from "../layer.ts";

/** Restricts what queries [batch, queries, heads, dim] see of keys and values [batch, keys, shared heads, dim]. */
export interface Sight {
  /** Booleans that repeat to [batch, heads, queries, keys]. */
  readonly mask?: Value | undefined;
  /** Queries see keys up to their own position, which is `from` places further than their index. */
  readonly causal: boolean;
  readonly from?: Value | number | undefined;
  /** Factor of the weights, [batch, heads, queries, keys]: for dropout. */
  readonly factor?: Value | undefined;
}

/**
 * Every query's mean of the values it sees, weighted by the softmax of its products with their keys:
 * [batch, queries, heads, dim]. Batch and shared heads become one axis, and the heads that share keys one with the
 * queries, so that products are as few and as large as they can be.
 */
export function attend(kind: string, q: Value, k: Value, v: Value, sight: Sight): Value {
  const [batch, queries, heads] = q.shape as readonly [number, number, number, number];
  const keys = k.shape[1] as number;
  if (isNarrow(q) && !sight.factor) {
    const allowed = allowedOf(kind, sight, [batch, heads, queries, keys]);
    return nn.dotProductAttention(q, k, v, allowed ? { mask: allowed } : {});
  }
  return attendStacked(kind, q, stacked(k), stacked(v), sight);
}

/** 16-bit floats have too few digits for the sums of a softmax. */
const isNarrow = ({ dtype }: Value): boolean => dtype === "f16" || dtype === "bf16";

/** [batch, length, heads, dim] as one matrix for each head of the batch: [batch * heads, length, dim]. */
export function stacked(x: Value): Value {
  const [batch, length, heads, dim] = x.shape as readonly [number, number, number, number];
  return np.reshape(np.transpose(x, [0, 2, 1, 3]), [batch * heads, length, dim]);
}

/** The same for stacked keys and values [batch * shared heads, keys, dim]. */
export function attendStacked(kind: string, q: Value, k: Value, v: Value, sight: Sight): Value {
  const [batch, queries, heads, dim] = q.shape as readonly [number, number, number, number];
  const [stack, keys] = k.shape as readonly [number, number, number];
  const group = (heads * batch) / stack;
  const full = [batch, heads, queries, keys];
  const allowed = allowedOf(kind, sight, full);
  const wide = (x: Value): Value => (isNarrow(q) ? np.astype(x, "f32") : x);
  // Scaling the queries is less work than scaling the products.
  const scaled = np.multiply(q, 1 / Math.sqrt(dim));
  const rows = np.reshape(np.transpose(scaled, [0, 2, 1, 3]), [stack, group * queries, dim]);
  const logits = wide(np.matmul(rows, np.swapaxes(k, 1, 2)));
  const seen = allowed
    ? np.reshape(np.where(allowed, np.reshape(logits, full), Number.NEGATIVE_INFINITY), logits.shape)
    : logits;
  const factor = sight.factor && np.reshape(np.broadcastTo(sight.factor, full), logits.shape);
  const mixed = weighed(seen, wide(v), { mayBeEmpty: sight.mask !== undefined, factor });
  const apart = np.reshape(np.astype(mixed, q.dtype), [batch, heads, queries, dim]);
  return np.transpose(apart, [0, 2, 1, 3]);
}

function allowedOf(kind: string, { mask, causal, from = 0 }: Sight, full: Shape): Value | undefined {
  const [, , queries, keys] = full as readonly [number, number, number, number];
  const at = (n: number, axis: number): Value => np.expandDims(np.arange(n, { dtype: "i32" }), axis);
  const earlier = causal ? np.lessEqual(at(keys, 0), np.add(at(queries, 1), from)) : undefined;
  if (mask === undefined) return earlier;
  const lead = full.length - mask.ndim;
  if (mask.dtype !== "bool" || lead < 0 || mask.shape.some((n, i) => n !== 1 && n !== full[i + lead]))
    throw layerError(
      kind,
      "SHAPE_MISMATCH",
      `the mask is ${mask.type.text}, which does not repeat to bool${shapeText(full)}`,
      "its axes are batch, heads, queries, keys, each equal or 1: true where a query may see a key",
    );
  return earlier ? np.logicalAnd(earlier, mask) : mask;
}

/** exp(x - max(x)) along the last axis, and 1 / their sums; where all are minus infinity both are 0. */
function exponentials(logits: Value, mayBeEmpty: boolean): { readonly exps: Value; readonly scale: Value } {
  const largest = stopGradient(np.max(logits, { axis: -1, keepdims: true }));
  const shift = mayBeEmpty ? np.where(np.isFinite(largest), largest, 0) : largest;
  const exps = np.exp(np.subtract(logits, shift));
  const sums = np.sum(exps, { axis: -1, keepdims: true });
  const scale = mayBeEmpty
    ? np.where(np.equal(sums, 0), 0, np.divide(1, np.where(np.equal(sums, 0), 1, sums)))
    : np.divide(1, sums);
  return { exps, scale };
}

/** Options for turning logits into weights. */
export interface Weighing {
  /** True if a query may see no key at all: it gets zeros. */
  readonly mayBeEmpty: boolean;
  /** Factor of the weights, shaped like the logits: for dropout. */
  readonly factor?: Value | undefined;
}

/**
 * softmax(logits) @ values for stacks of matrices [n, queries, keys] and [n, keys, dim]. The sums divide the result,
 * which is smaller than the weights, and on the way back the product of weights and their cotangents is taken from
 * the result, too: fewer passes over [queries, keys] than a softmax and a product have by themselves.
 */
export function weighed(logits: Value, values: Value, { mayBeEmpty, factor }: Weighing): Value {
  const ones = factor ?? np.ones([]);
  const times = (x: Value, by: Value): Value => (factor ? np.multiply(x, by) : x);
  return customGradient(
    (x: Value, v: Value, by: Value): Value => {
      const { exps, scale } = exponentials(x, mayBeEmpty);
      return np.multiply(np.matmul(times(exps, by), v), scale);
    },
    ([x, v, by], result, cotangent) => {
      // The same as on the way forward, so that the compiler computes it once.
      const { exps, scale } = exponentials(x, mayBeEmpty);
      const scaled = np.multiply(cotangent, scale);
      const mean = np.sum(np.multiply(scaled, result), { axis: -1, keepdims: true });
      const ofWeights = np.matmul(scaled, np.swapaxes(v, -1, -2));
      return [
        np.multiply(exps, np.subtract(times(ofWeights, by), mean)),
        np.matmul(np.swapaxes(times(exps, by), -1, -2), scaled),
        np.zerosLike(by),
      ];
    },
  )(logits, values, ones);
}
