import { EspalierError } from "../core/index.ts";
import { np, type Value } from "../engine/index.ts";

/**
 * The share of examples whose greatest output is the one of their label. Labels are whole numbers without the axis of
 * classes, or distributions of the outputs' shape.
 *
 * @example
 * ```ts
 * supervisedTask({ ..., loss: nn.crossEntropy, metrics: { accuracy } });
 * ```
 */
export function accuracy(outputs: Value, y: Value): Value {
  if (outputs.ndim === 0)
    throw new EspalierError("SHAPE_MISMATCH", "accuracy: the outputs are one number", {
      fix: "give outputs with one number for each class along the last axis",
    });
  const chosen = np.argmax(outputs, { axis: -1 });
  const labels = y.ndim === outputs.ndim ? np.argmax(y, { axis: -1 }) : y.astype("i32");
  return np.mean(np.equal(chosen, labels).astype("f32"));
}
