import { checkOptions, type Options, option, resolveOptions } from "../../core/index.ts";
import { np, type Value } from "../../engine/index.ts";
import type { Loss } from "../../losses/index.ts";
import type { Experience, PolicyOutputs } from "../experience/experience.ts";
import { orRamp, positive } from "../option-rows.ts";
import {
  type LossOptions,
  lossMembers,
  lossRows,
  maskRows,
  meanOf,
  normalizedOver,
  varianceOf,
} from "./loss.ts";

const normalizations = ["minibatch", "batch", "none"] as const;

/**
 * How advantages are normalized: over each minibatch by the loss, over the whole rollout by the task before the loss
 * sees them, or not at all.
 */
export type AdvantageNormalization = (typeof normalizations)[number];

const policyTable = {
  ...lossRows,
  /** Ratios are clipped to 1 plus and minus this. Default: 0.2. */
  clip: orRamp(positive),
  /** Default: "minibatch". */
  normalize: option.oneOf(normalizations, { default: "minibatch" }),
};

/**
 * PPO's clipped surrogate. Reports `approxKl` (mean of ratio - 1 - log ratio), `clipFraction` and `ratio`, and gives
 * the ratios [rows] to other terms as `ratio`. A field `importance` [rows] in the batch multiplies the advantages.
 *
 * @example
 * ```ts
 * const losses = [policyLoss({ clip: linear({ from: 0.2, to: 0, over: { epochs: 100 } }) }), valueLoss(), entropyLoss()];
 * ```
 */
export function policyLoss(options: Options<typeof policyTable> = {}): Loss<Experience, PolicyOutputs> {
  const { clip = 0.2, normalize } = resolveOptions("policyLoss", options, policyTable);
  return {
    ...lossMembers("policy", 1, options),
    rates: { clip },
    gives: ["ratio"],
    term: ({ batch, outputs, rate }) => {
      const { valid } = batch;
      const logRatio = maskRows(outputs.logProb.sub(batch.logProb), valid);
      const ratio = np.exp(logRatio);
      const range = rate("clip");
      const advantage = learnedAdvantage(batch, normalize);
      const clipped = np.clip(ratio, np.subtract(1, range), np.add(1, range));
      const gain = np.minimum(ratio.mul(advantage), clipped.mul(advantage));
      return {
        loss: meanOf(gain, valid).neg(),
        metrics: {
          approxKl: meanOf(ratio.sub(1).sub(logRatio), valid),
          clipFraction: meanOf(np.greater(np.absolute(ratio.sub(1)), range).astype("f32"), valid),
          ratio: meanOf(ratio, valid),
        },
        values: { ratio },
      };
    },
  };
}

const gradientTable = {
  ...lossRows,
  /** Default: "none". */
  normalize: option.oneOf(normalizations, { default: "none" }),
};

/**
 * The policy gradient of A2C: minus log-probability times advantage. For experience of the current policy, learned from
 * once.
 *
 * @example
 * ```ts
 * const losses = [policyGradientLoss(), valueLoss(), entropyLoss()];
 * ```
 */
export function policyGradientLoss(
  options: Options<typeof gradientTable> = {},
): Loss<Experience, PolicyOutputs> {
  const { normalize } = resolveOptions("policyGradientLoss", options, gradientTable);
  return {
    ...lossMembers("policy", 1, options),
    term: ({ batch, outputs }) => {
      const logProb = maskRows(outputs.logProb, batch.valid);
      return { loss: meanOf(logProb.mul(learnedAdvantage(batch, normalize)), batch.valid).neg() };
    },
  };
}

/** Advantages of valid rows, normalized and multiplied by their importance. */
function learnedAdvantage(batch: Experience, normalize: AdvantageNormalization): Value {
  const { advantage, valid } = batch;
  const normalized =
    normalize === "minibatch" ? normalizedOver(advantage, valid) : maskRows(advantage, valid);
  const importance: Value | undefined = batch.importance;
  return importance ? normalized.mul(maskRows(importance, valid)) : normalized;
}

const valueTable = {
  ...lossRows,
  /** Values are clipped to this distance from their estimates during the rollout. Default: not clipped. */
  clip: orRamp(positive),
};

/**
 * Half the squared distance of values to returns; with `clip` the larger one of that and of the clipped value's.
 * Reports `explainedVariance` of the values during the rollout: 1 if they predicted the returns, 0 if a constant would
 * have done as well (and if all returns are equal).
 *
 * The default weight is 0.5, as in CleanRL. Stable-Baselines3 takes the whole square: 1 here is 0.5 there.
 *
 * @example
 * ```ts
 * const value = valueLoss({ clip: 0.2, weight: 0.5 });
 * ```
 */
export function valueLoss(options: Options<typeof valueTable> = {}): Loss<Experience, PolicyOutputs> {
  checkOptions("valueLoss", options, valueTable);
  const { clip } = options;
  return {
    ...lossMembers("value", 0.5, options),
    ...(clip !== undefined && { rates: { clip } }),
    term: ({ batch, outputs, rate }) => {
      const { valid } = batch;
      const error = maskRows(outputs.value.sub(batch.return), valid);
      let squares = np.square(error);
      if (clip !== undefined) {
        const range = rate("clip");
        const moved = maskRows(outputs.value.sub(batch.value), valid);
        const clipped = batch.value.add(np.clip(moved, np.negative(range), range));
        squares = np.maximum(squares, np.square(maskRows(clipped.sub(batch.return), valid)));
      }
      return {
        loss: meanOf(squares, valid).mul(0.5),
        metrics: { explainedVariance: explainedVariance(batch.value, batch.return, valid) },
      };
    },
  };
}

function explainedVariance(value: Value, target: Value, valid: Value): Value {
  const all = varianceOf(target, valid);
  const share = np.subtract(1, varianceOf(target.sub(value), valid).div(all));
  return np.where(np.greater(all, 0), share, 0);
}

/**
 * Minus the mean entropy, so that policies keep exploring. Reports `entropy`. The default weight is 0.01.
 *
 * @example
 * ```ts
 * const entropy = entropyLoss({ weight: linear({ from: 0.01, to: 0, over: { samples: 1_000_000 } }) });
 * ```
 */
export function entropyLoss(options: LossOptions = {}): Loss<Experience, PolicyOutputs> {
  checkOptions("entropyLoss", options, lossRows);
  return {
    ...lossMembers("entropy", 0.01, options),
    term: ({ batch, outputs }) => {
      const entropy = meanOf(maskRows(outputs.entropy, batch.valid), batch.valid);
      return { loss: entropy.neg(), metrics: { entropy } };
    },
  };
}
