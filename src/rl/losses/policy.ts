import { checkNames, checkWord } from "../../core/index.ts";
import { np, type Value } from "../../engine/index.ts";
import type { Loss } from "../../losses/index.ts";
import type { Ramp } from "../../schedule/index.ts";
import type { Experience, PolicyOutputs } from "../experience/experience.ts";
import { checkClip, type LossSettings, settingsOf } from "./options.ts";
import { countedRows, meanOf, normalizedOver } from "./valid.ts";

const normalizations = ["minibatch", "batch", "none"] as const;

/**
 * How advantages are normalised: over each minibatch by the loss itself; over the whole batch by the task, before the
 * loss sees it; or not at all.
 */
export type AdvantageNormalization = (typeof normalizations)[number];

/** Options of {@link policyLoss}. */
export interface PolicyLossOptions extends LossSettings {
  /** How far the ratio may go from 1 before it earns nothing more. Default 0.2. */
  readonly clip?: number | Ramp | undefined;
  /** Default "minibatch". */
  readonly normalize?: AdvantageNormalization | undefined;
}

/**
 * PPO's clipped surrogate. Reports `approxKl` (mean of ratio - 1 - log ratio), `clipFraction` and `ratio`, and gives
 * the ratios [rows] to other terms as `ratio`. A field `importance` [rows] in the batch, where there is one, multiplies
 * the advantages.
 *
 * @example
 * ```ts
 * const losses = [policyLoss({ clip: linear({ from: 0.2, to: 0, over: { epochs: 100 } }) }), valueLoss(), entropyLoss()];
 * ```
 */
export function policyLoss(options: PolicyLossOptions = {}): Loss<Experience, PolicyOutputs> {
  const kind = "policyLoss";
  checkNames(kind, options, ["clip", "normalize", "weight", "active", "name"]);
  const { clip = 0.2 } = options;
  const normalize = checkWord(kind, "normalize", options.normalize ?? "minibatch", normalizations);
  checkClip(kind, clip);
  return {
    ...settingsOf("policy", 1, options),
    rates: { clip },
    gives: ["ratio"],
    term: ({ batch, outputs, rate }) => {
      const { valid } = batch;
      const logRatio = countedRows(outputs.logProb.sub(batch.logProb), valid);
      const ratio = np.exp(logRatio);
      const range = rate("clip");
      const advantage = weighted(batch, normalize);
      const near = np.clip(ratio, np.subtract(1, range), np.add(1, range));
      const gain = np.minimum(ratio.mul(advantage), near.mul(advantage));
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

/** Options of {@link policyGradientLoss}. */
export interface PolicyGradientLossOptions extends LossSettings {
  /** Default "none". */
  readonly normalize?: AdvantageNormalization | undefined;
}

/**
 * The policy gradient itself, as A2C has it: minus log-probability times advantage. For experience of the policy as it
 * is, learned from once.
 *
 * @example
 * ```ts
 * const losses = [policyGradientLoss(), valueLoss(), entropyLoss()];
 * ```
 */
export function policyGradientLoss(options: PolicyGradientLossOptions = {}): Loss<Experience, PolicyOutputs> {
  const kind = "policyGradientLoss";
  checkNames(kind, options, ["normalize", "weight", "active", "name"]);
  const normalize = checkWord(kind, "normalize", options.normalize ?? "none", normalizations);
  return {
    ...settingsOf("policy", 1, options),
    term: ({ batch, outputs }) => {
      const logProb = countedRows(outputs.logProb, batch.valid);
      return { loss: meanOf(logProb.mul(weighted(batch, normalize)), batch.valid).neg() };
    },
  };
}

/** Advantages of the rows that count, as they are to be learned from. */
function weighted(batch: Experience, normalize: AdvantageNormalization): Value {
  const { advantage, valid } = batch;
  const wanted = normalize === "minibatch" ? normalizedOver(advantage, valid) : countedRows(advantage, valid);
  const importance: Value | undefined = batch.importance;
  return importance ? wanted.mul(countedRows(importance, valid)) : wanted;
}
