import { EspalierError, option } from "../../core/index.ts";
import { nn as functions, np, type Value, type ValueLike } from "../../engine/index.ts";
import { checkOptions, row } from "../options.ts";
import {
  checkAlike,
  counted,
  finite,
  isLabels,
  type LossOptions,
  mismatch,
  product,
  reduced,
  shapeText,
  weightsOf,
  wide,
  withoutInfinity,
} from "./reduction.ts";

/** Options of {@link crossEntropy}. */
export interface CrossEntropyOptions extends LossOptions {
  /** The part of the target that is spread evenly over all classes. Default: 0. */
  readonly labelSmoothing?: number;
  /** Weights of the classes: one number each. */
  readonly classWeights?: ValueLike;
  /** Axis of the classes. Default: last. */
  readonly axis?: number;
}

const crossEntropyOptions = {
  labelSmoothing: row.share,
  mask: row.array,
  classWeights: row.array,
  axis: option.integer({}),
  reduction: row.reduction,
};

/**
 * Minus the logarithm of the probability that the softmax of the logits gives the target: labels (integers, without the
 * axis of classes), or distributions (floats of the logits' shape). As PyTorch's: with class weights the mean over
 * labels is divided by the weights of the labels. A label that is no class gives NaN; hide such with `mask`.
 *
 * @example
 * ```ts
 * const loss = nn.crossEntropy(logits, labels, { labelSmoothing: 0.1, mask: np.notEqual(labels, -1) });
 * ```
 */
export function crossEntropy(logits: ValueLike, labels: ValueLike, options: CrossEntropyOptions = {}): Value {
  const kind = "crossEntropy";
  checkOptions(kind, options, crossEntropyOptions);
  const smoothing = options.labelSmoothing ?? 0;
  const given = wide(logits);
  const target = np.array(labels);
  const axis = axisOf(kind, options.axis ?? -1, given);
  const classes = given.shape[axis] as number;
  const shape = given.shape.filter((_, i) => i !== axis);
  const mask = weightsOf(kind, options, shape, given.dtype);
  const alongClasses = mask && np.broadcastTo(np.expandDims(mask, axis), given.shape);
  const classWeights = classWeightsOf(kind, options, given, axis);
  const logP = functions.logSoftmax(withoutInfinity(counted(given, alongClasses)), { axis });
  const perClass = classWeights ? np.multiply(logP, classWeights.spread) : logP;

  if (!isLabels(target)) {
    if (shapeText(target.shape) === shapeText(shape) && target.ndim !== given.ndim)
      throw floatLabels(kind, target);
    checkAlike(kind, ["the logits", "the distributions"], given, target);
    const certain = np.multiply(counted(wide(target), alongClasses), 1 - smoothing);
    const losses = np.negative(np.sum(product(np.add(certain, smoothing / classes), perClass), { axis }));
    return reduced(kind, losses, mask, options);
  }

  if (shapeText(target.shape) !== shapeText(shape))
    throw mismatch(
      kind,
      `the logits are ${shapeText(given.shape)} and the labels are ${shapeText(target.shape)}`,
      `give labels ${shapeText(shape)}: one for each example, and logits with the classes on axis ${axis}`,
    );
  const label = counted(np.astype(target, "i32"), mask);
  const isLabel = np.oneHot(label, classes, { axis, dtype: "bool" });
  const chosen = np.sum(np.where(isLabel, perClass, np.zerosLike(perClass)), { axis });
  const spread = smoothing === 0 ? undefined : np.multiply(np.sum(perClass, { axis }), smoothing / classes);
  const logLikelihood = spread ? np.add(np.multiply(chosen, 1 - smoothing), spread) : chosen;
  const known = np.logicalAnd(np.greaterEqual(label, 0), np.less(label, classes));
  const losses = np.where(known, np.negative(logLikelihood), np.nan);
  if (!classWeights) return reduced(kind, losses, mask, options);
  const ofLabels = np.take(classWeights.list, label);
  return reduced(kind, losses, mask, options, mask ? np.multiply(ofLabels, mask) : ofLabels);
}

export function axisOf(kind: string, axis: number, logits: Value): number {
  const at = axis < 0 ? axis + logits.ndim : axis;
  if (Number.isInteger(at) && at >= 0 && at < logits.ndim) return at;
  throw mismatch(
    kind,
    `the logits ${shapeText(logits.shape)} have no axis ${axis}`,
    "give an axis they have",
  );
}

function classWeightsOf(
  kind: string,
  { classWeights }: CrossEntropyOptions,
  logits: Value,
  axis: number,
): { readonly list: Value; readonly spread: Value } | undefined {
  if (classWeights === undefined) return undefined;
  const list = np.astype(classWeights, logits.dtype);
  const classes = logits.shape[axis] as number;
  if (list.ndim !== 1 || list.shape[0] !== classes)
    throw mismatch(
      kind,
      `classWeights are ${shapeText(list.shape)} and there are ${classes} classes`,
      `give ${classes} numbers, one for each class`,
    );
  return {
    list,
    spread: np.reshape(
      list,
      logits.shape.map((n, i) => (i === axis ? n : 1)),
    ),
  };
}

const floatLabels = (kind: string, labels: Value): EspalierError =>
  new EspalierError("DTYPE_MISMATCH", `${kind}: the labels are ${labels.dtype}${shapeText(labels.shape)}`, {
    fix: 'labels are whole numbers: put them with dtype "i32", or convert them: labels.astype("i32")',
  });

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
  /** Weight of positive labels, for all or for each along the last axes. */
  readonly positiveWeight?: ValueLike;
  /** The part of the target that is 1/2 instead of the label. Default: 0. */
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
  checkOptions(kind, options, {
    positiveWeight: row.array,
    labelSmoothing: row.share,
    mask: row.array,
    reduction: row.reduction,
  });
  const smoothing = options.labelSmoothing ?? 0;
  const { x, y, weights } = prepare(kind, logits, labels, options);
  const target = smoothing === 0 ? y : np.add(np.multiply(y, 1 - smoothing), smoothing / 2);
  return reduced(kind, entropy(x, target, options.positiveWeight), weights, options);
}

/** Options of {@link focal}. */
export interface FocalOptions extends LossOptions {
  /** Focusing: reduces the weight of easy examples; 0 makes it {@link binaryCrossEntropy}. Default: 2. */
  readonly gamma?: number;
  /** The weight of positive labels, of which negative ones get the rest to 1; null for none. Default: 0.25. */
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
  checkOptions("focal", options, {
    gamma: row.notNegative,
    alpha: option.made<number | null>(
      "a number from 0 to 1, or null",
      (value) => value === null || row.share.accepts(value),
      {},
    ),
    mask: row.array,
    reduction: row.reduction,
  });
  const { gamma = 2, alpha = 0.25 } = options;
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

/** Form of an argument of {@link kl}. */
export type DistributionForm = "logits" | "logProbabilities" | "probabilities";

/** Options of {@link kl}. */
export interface KlOptions extends LossOptions {
  /** Form of both arguments. Default: logits. */
  readonly form?: DistributionForm;
  /** Form of the target, if it differs. */
  readonly targetForm?: DistributionForm;
  /** Axis of the classes. Default: last. */
  readonly axis?: number;
}

const forms: readonly DistributionForm[] = ["logits", "logProbabilities", "probabilities"];

/**
 * The Kullback-Leibler divergence of predicted from target distributions, KL(target || predicted): the sum over classes
 * of target * (log target - log predicted). Sums over classes and then reduces over examples, so that its mean is
 * PyTorch's `kl_div(..., reduction="batchmean")`; PyTorch takes log-probabilities and probabilities:
 * `{ form: "logProbabilities", targetForm: "probabilities" }`.
 *
 * @example
 * ```ts
 * const distillation = nn.kl(studentLogits, teacherLogits);
 * ```
 */
export function kl(predicted: ValueLike, target: ValueLike, options: KlOptions = {}): Value {
  checkOptions("kl", options, {
    form: option.oneOf(forms, {}),
    targetForm: option.oneOf(forms, {}),
    axis: option.integer({}),
    mask: row.array,
    reduction: row.reduction,
  });
  const form = options.form ?? "logits";
  const targetForm = options.targetForm ?? form;
  const [p, t] = [wide(predicted), wide(target)];
  checkAlike("kl", ["the predictions", "the targets"], p, t);
  const axis = axisOf("kl", options.axis ?? -1, p);
  const shape = p.shape.filter((_, i) => i !== axis);
  const mask = weightsOf("kl", options, shape, p.dtype);
  const alongClasses = mask && np.broadcastTo(np.expandDims(mask, axis), p.shape);
  const logP = logarithms(counted(p, alongClasses), form, axis);
  const kept = counted(t, alongClasses);
  const logT = logarithms(kept, targetForm, axis);
  const probabilities = targetForm === "probabilities" ? kept : np.exp(logT);
  return reduced("kl", np.sum(divergences(probabilities, logT, logP), { axis }), mask, options);
}

function logarithms(x: Value, form: DistributionForm, axis: number): Value {
  if (form === "logits") return functions.logSoftmax(withoutInfinity(x), { axis });
  return form === "probabilities" ? np.log(x) : x;
}

/** t * (log t - log p), and 0 where t is 0, whatever the logarithms are. */
function divergences(t: Value, logT: Value, logP: Value): Value {
  const never = np.equal(t, 0);
  const zero = np.zerosLike(t);
  const apart = np.subtract(np.where(never, zero, logT), np.where(never, zero, logP));
  return product(t, apart);
}
