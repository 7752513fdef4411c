import { nn as functions, np, type Value, type ValueLike } from "../../engine/index.ts";
import { checkNumber, checkOptions } from "../options.ts";
import {
  checkAlike,
  counted,
  finite,
  type LossOptions,
  product,
  reduced,
  weightsOf,
  wide,
} from "./reduction.ts";

interface Prepared {
  readonly x: Value;
  readonly y: Value;
  readonly weights: Value | undefined;
}

function prepare(kind: string, logits: ValueLike, labels: ValueLike, options: LossOptions): Prepared {
  const [x, y] = [wide(logits), wide(labels)];
  checkAlike(kind, ["the logits", "the labels"], x, y);
  const weights = weightsOf(kind, options, x.shape, x.dtype);
  return { x: counted(x, weights), y: counted(y, weights), weights };
}

/** -y log(sigmoid(x)) - (1 - y) log(1 - sigmoid(x)), with the first part multiplied. */
function entropy(x: Value, y: Value, positive: ValueLike = 1): Value {
  const yes = product(np.multiply(y, positive), functions.softplus(np.negative(x)));
  return np.add(yes, product(np.subtract(1, y), functions.softplus(x)));
}

/** Options of {@link binaryCrossEntropy}. */
export interface BinaryCrossEntropyOptions extends LossOptions {
  /** What the losses of positive labels are multiplied by, for all or for each along the last axes. */
  readonly positiveWeight?: ValueLike;
  /** The part of the target that is 1/2 instead of the label; 0 unless told. */
  readonly labelSmoothing?: number;
}

/**
 * Minus the logarithm of the probability that the sigmoid of each logit gives its label, from 0 to 1.
 *
 * @example
 * ```ts
 * const loss = nn.binaryCrossEntropy(logits, labels, { positiveWeight: 4 });
 * ```
 */
export function binaryCrossEntropy(
  logits: ValueLike,
  labels: ValueLike,
  options: BinaryCrossEntropyOptions = {},
): Value {
  const kind = "binaryCrossEntropy";
  checkOptions(kind, options, ["positiveWeight", "labelSmoothing", "mask", "reduction"]);
  const smoothing = options.labelSmoothing ?? 0;
  checkNumber(kind, "labelSmoothing", smoothing, (s) => s >= 0 && s <= 1, "give a number from 0 to 1");
  const { x, y, weights } = prepare(kind, logits, labels, options);
  const target = smoothing === 0 ? y : np.add(np.multiply(y, 1 - smoothing), smoothing / 2);
  return reduced(kind, entropy(x, target, options.positiveWeight), weights, options);
}

/** Options of {@link focal}. */
export interface FocalOptions extends LossOptions {
  /** How much less easy examples count; 2 unless told, and 0 makes it {@link binaryCrossEntropy}. */
  readonly gamma?: number;
  /** The weight of positive labels, of which negative ones get the rest to 1; 0.25 unless told, null for none. */
  readonly alpha?: number | null;
}

/** Smaller ones count as this: a power below 1 has no derivative at 0. */
const smallest = 1e-30;

/**
 * Cross entropy of labels from 0 to 1 in which examples count the less, the better they are known: times (1 - p)^gamma,
 * where p is the probability of the label. As torchvision's `sigmoid_focal_loss`.
 *
 * @example
 * ```ts
 * const loss = nn.focal(logits, labels, { gamma: 2, alpha: 0.25 });
 * ```
 */
export function focal(logits: ValueLike, labels: ValueLike, options: FocalOptions = {}): Value {
  checkOptions("focal", options, ["gamma", "alpha", "mask", "reduction"]);
  const { gamma = 2, alpha = 0.25 } = options;
  checkNumber("focal", "gamma", gamma, (g) => g >= 0, "give a number from 0 on");
  if (alpha !== null)
    checkNumber("focal", "alpha", alpha, (a) => a >= 0 && a <= 1, "give a number from 0 to 1, or null");
  const { x: given, y, weights } = prepare("focal", logits, labels, options);
  const x = finite(given);
  const no = np.subtract(1, y);
  const missed = np.add(
    np.multiply(functions.sigmoid(x), no),
    np.multiply(functions.sigmoid(np.negative(x)), y),
  );
  let losses = entropy(x, y);
  if (gamma > 0) losses = np.multiply(losses, np.power(np.maximum(missed, smallest), gamma));
  if (alpha !== null) {
    const share = np.add(np.multiply(y, alpha), np.multiply(no, 1 - alpha));
    losses = np.multiply(losses, share);
  }
  return reduced("focal", losses, weights, options);
}
