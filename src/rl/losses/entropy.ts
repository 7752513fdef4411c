import { checkNames } from "../../core/index.ts";
import type { Loss } from "../../losses/index.ts";
import type { Experience, PolicyOutputs } from "../experience/experience.ts";
import { type LossSettings, settingsOf } from "./options.ts";
import { countedRows, meanOf } from "./valid.ts";

/**
 * Minus the mean entropy, so that policies stay curious. Reports `entropy`. The weight is 0.01 unless given.
 *
 * @example
 * ```ts
 * const entropy = entropyLoss({ weight: linear({ from: 0.01, to: 0, over: { samples: 1_000_000 } }) });
 * ```
 */
export function entropyLoss(options: LossSettings = {}): Loss<Experience, PolicyOutputs> {
  checkNames("entropyLoss", options, ["weight", "active", "name"]);
  return {
    ...settingsOf("entropy", 0.01, options),
    term: ({ batch, outputs }) => {
      const entropy = meanOf(countedRows(outputs.entropy, batch.valid), batch.valid);
      return { loss: entropy.neg(), metrics: { entropy } };
    },
  };
}
