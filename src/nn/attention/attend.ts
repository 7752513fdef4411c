import { nn, np, type Shape, type Value } from "../../engine/index.ts";
import { shapeText } from "../layer.ts";
import { layerError } from "../path.ts";
import { weighed } from "./weighing.ts";

/** What queries [batch, queries, heads, dim] may see of keys and values [batch, keys, shared heads, dim]. */
export interface Sight {
  /** Booleans that repeat to [batch, heads, queries, keys]. */
  readonly mask?: Value | undefined;
  /** Queries see keys up to their own position, which is `from` places further than their index. */
  readonly causal: boolean;
  readonly from?: Value | number | undefined;
  /** What weights are multiplied by, [batch, heads, queries, keys]: for dropout. */
  readonly factor?: Value | undefined;
}

/**
 * Every query's mean of the values it sees, weighted by the softmax of its products with their keys:
 * [batch, queries, heads, dim]. Batch and shared heads become one axis, and the heads that share keys one with the
 * queries, so that products are as few and as large as they can be.
 */
export function attend(kind: string, q: Value, k: Value, v: Value, sight: Sight): Value {
  const [batch, queries, heads, dim] = q.shape as readonly [number, number, number, number];
  const [, keys, shared] = k.shape as readonly [number, number, number, number];
  const group = heads / shared;
  const full = [batch, heads, queries, keys];
  const allowed = allowedOf(kind, sight, full);
  // 16-bit floats have too few digits for the sums of a softmax.
  const narrow = q.dtype === "f16" || q.dtype === "bf16";
  if (narrow && !sight.factor) return nn.dotProductAttention(q, k, v, allowed ? { mask: allowed } : {});
  const wide = (x: Value): Value => (narrow ? np.astype(x, "f32") : x);
  const stacked = (x: Value): Value => np.reshape(np.transpose(x, [0, 2, 1, 3]), [batch * shared, -1, dim]);
  // Scaling the queries is less work than scaling the products.
  const scaled = np.multiply(q, 1 / Math.sqrt(dim));
  const rows = np.reshape(np.transpose(scaled, [0, 2, 1, 3]), [batch * shared, group * queries, dim]);
  const logits = wide(np.matmul(rows, np.swapaxes(stacked(k), 1, 2)));
  const seen = allowed
    ? np.reshape(np.where(allowed, np.reshape(logits, full), Number.NEGATIVE_INFINITY), logits.shape)
    : logits;
  const factor = sight.factor && np.reshape(np.broadcastTo(sight.factor, full), logits.shape);
  const mixed = weighed(seen, wide(stacked(v)), { mayBeEmpty: sight.mask !== undefined, factor });
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
