import { nn as functions, np, type Value, type ValueLike } from "../../engine/index.ts";
import { checkOptions, checkWord } from "../options.ts";
import { axisOf } from "./cross-entropy.ts";
import {
  checkAlike,
  counted,
  type LossOptions,
  product,
  reduced,
  weightsOf,
  wide,
  withoutInfinity,
} from "./reduction.ts";

/** What an argument of {@link kl} holds. */
export type DistributionForm = "logits" | "logProbabilities" | "probabilities";

/** Options of {@link kl}. */
export interface KlOptions extends LossOptions {
  /** What both arguments hold; logits unless told. */
  readonly form?: DistributionForm;
  /** What the target holds, where that is something else. */
  readonly targetForm?: DistributionForm;
  /** Where the classes stand; last unless told. */
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
  checkOptions("kl", options, ["form", "targetForm", "axis", "mask", "reduction"]);
  const form = checkWord("kl", "form", options.form ?? "logits", forms);
  const targetForm = checkWord("kl", "targetForm", options.targetForm ?? form, forms);
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
