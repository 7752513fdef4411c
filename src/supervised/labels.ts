import { EspalierError, isPlainObject } from "../core/index.ts";
import type { ArrayTree } from "../data/index.ts";
import { Tensor } from "../engine/index.ts";
import type { LossStrategy } from "./strategies.ts";
import type { SupervisedData } from "./task-options.ts";

/** The same strategy of classes, which refuses labels the model has no output for, where they are on the host. */
export function withLabelsChecked(
  strategy: LossStrategy,
  data: Readonly<Record<string, SupervisedData | undefined>>,
): LossStrategy {
  return {
    ...strategy,
    loss: (logits, y) => {
      const classes = logits.shape.at(-1);
      // As soon as it is traced. With as many axes as the logits, the targets are distributions.
      if (classes !== undefined && y.ndim < logits.ndim)
        for (const [name, given] of Object.entries(data)) checkLabels(name, given?.y, classes);
      return strategy.loss(logits, y);
    },
  };
}

function checkLabels(name: string, y: ArrayTree | undefined, classes: number): void {
  const labels = numbersOf(y);
  let [bad, first] = [0, 0];
  for (const label of labels) {
    const whole = Math.trunc(Number(label));
    if (whole >= 0 && whole < classes) continue;
    if (bad++ === 0) first = Number(label);
  }
  if (bad === 0) return;
  throw new EspalierError(
    "LABELS_INVALID",
    `${name}: ${bad} of ${labels.length} labels are none of the model's ${classes} classes, the first is ${first}`,
    { fix: `number the classes from 0 to ${classes - 1}, or give the model an output for each class` },
  );
}

/** Numbers on the host, in order. What is on a device is not looked at. */
function numbersOf(y: unknown): ArrayLike<number | boolean> & Iterable<number | boolean> {
  if (y instanceof Tensor) return [];
  if (isPlainObject(y)) return numbersOf(y.data);
  if (Array.isArray(y)) return y.flat(Number.POSITIVE_INFINITY) as number[];
  return ArrayBuffer.isView(y) ? (y as Uint8Array) : [];
}
