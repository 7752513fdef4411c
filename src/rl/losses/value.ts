import { checkNames } from "../../core/index.ts";
import { np, type Value } from "../../engine/index.ts";
import type { Loss } from "../../losses/index.ts";
import type { Ramp } from "../../schedule/index.ts";
import type { Experience, PolicyOutputs } from "../experience/experience.ts";
import { checkClip, type LossSettings, settingsOf } from "./options.ts";
import { countedRows, meanOf, varianceOf } from "./valid.ts";

/** Options of {@link valueLoss}. */
export interface ValueLossOptions extends LossSettings {
  /** How far values may go from those at gathering before it earns nothing more. Left out: as far as they like. */
  readonly clip?: number | Ramp | undefined;
}

/**
 * Half the squared distance of values to returns; with `clip` the larger one of that and of the clipped value's.
 * Reports `explainedVariance` of the values at gathering: 1 when they foretold the returns, 0 when a constant would
 * have done as well (and where all returns are equal).
 *
 * The weight is 0.5 unless given, as CleanRL has it. Stable-Baselines3 takes the whole square: 1 here is 0.5 there.
 *
 * @example
 * ```ts
 * const value = valueLoss({ clip: 0.2, weight: 0.5 });
 * ```
 */
export function valueLoss(options: ValueLossOptions = {}): Loss<Experience, PolicyOutputs> {
  const kind = "valueLoss";
  checkNames(kind, options, ["clip", "weight", "active", "name"]);
  const { clip } = options;
  if (clip !== undefined) checkClip(kind, clip);
  return {
    ...settingsOf("value", 0.5, options),
    ...(clip !== undefined && { rates: { clip } }),
    term: ({ batch, outputs, rate }) => {
      const { valid } = batch;
      const away = countedRows(outputs.value.sub(batch.return), valid);
      let squares = np.square(away);
      if (clip !== undefined) {
        const range = rate("clip");
        const moved = countedRows(outputs.value.sub(batch.value), valid);
        const near = batch.value.add(np.clip(moved, np.negative(range), range));
        squares = np.maximum(squares, np.square(countedRows(near.sub(batch.return), valid)));
      }
      return {
        loss: meanOf(squares, valid).mul(0.5),
        metrics: { explainedVariance: explained(batch.value, batch.return, valid) },
      };
    },
  };
}

function explained(value: Value, target: Value, valid: Value): Value {
  const all = varianceOf(target, valid);
  const share = np.subtract(1, varianceOf(target.sub(value), valid).div(all));
  return np.where(np.greater(all, 0), share, 0);
}
