import { np, type Value, type ValueLike } from "../../engine/index.ts";
import { checkOptions, row } from "../options.ts";
import { checkAlike, counted, type LossOptions, reduced, weightsOf, wide } from "./reduction.ts";

const lossOptions = { mask: row.array, reduction: row.reduction };

/** The losses of differences between predictions and targets of one shape. */
function ofDifference(
  kind: string,
  predictions: ValueLike,
  targets: ValueLike,
  options: LossOptions,
  loss: (difference: Value) => Value,
): Value {
  const [p, t] = [wide(predictions), wide(targets)];
  checkAlike(kind, ["the predictions", "the targets"], p, t);
  const weights = weightsOf(kind, options, p.shape, p.dtype);
  const difference = np.subtract(counted(p, weights), counted(t, weights));
  return reduced(kind, loss(difference), weights, options);
}

/**
 * The mean squared error.
 *
 * @example
 * ```ts
 * const loss = nn.mse(model.apply(params, x), y);
 * ```
 */
export function mse(predictions: ValueLike, targets: ValueLike, options: LossOptions = {}): Value {
  checkOptions("mse", options, lossOptions);
  return ofDifference("mse", predictions, targets, options, np.square);
}

/** The mean absolute error; its gradient is 0 where prediction and target are equal. */
export function mae(predictions: ValueLike, targets: ValueLike, options: LossOptions = {}): Value {
  checkOptions("mae", options, lossOptions);
  return ofDifference("mae", predictions, targets, options, np.absolute);
}

/** Options of {@link huber}. */
export interface HuberOptions extends LossOptions {
  /** Error at which the loss turns from quadratic to linear. Default: 1. */
  readonly delta?: number;
}

/** Half the square of small differences and delta * (|difference| - delta / 2) of larger ones. */
export function huber(predictions: ValueLike, targets: ValueLike, options: HuberOptions = {}): Value {
  checkOptions("huber", options, { delta: row.positive, ...lossOptions });
  const delta = options.delta ?? 1;
  return ofDifference("huber", predictions, targets, options, (difference) => {
    const size = np.absolute(difference);
    const curved = np.minimum(size, delta);
    return np.add(np.multiply(np.square(curved), 0.5), np.multiply(np.subtract(size, curved), delta));
  });
}
