import { EspalierError } from "../../core/index.ts";
import { nn as functions, np, type Value, type ValueLike } from "../../engine/index.ts";
import { checkNumber, checkOptions } from "../options.ts";
import {
  checkAlike,
  counted,
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
  /** The part of the target that is spread evenly over all classes; 0 unless told. */
  readonly labelSmoothing?: number;
  /** How much each class counts: one number a class. */
  readonly classWeights?: ValueLike;
  /** Where the classes stand; last unless told. */
  readonly axis?: number;
}

const names = ["labelSmoothing", "mask", "classWeights", "axis", "reduction"];

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
  checkOptions(kind, options, names);
  const smoothing = options.labelSmoothing ?? 0;
  checkNumber(kind, "labelSmoothing", smoothing, (x) => x >= 0 && x <= 1, "give a number from 0 to 1");
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
