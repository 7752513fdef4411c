import { checkNames } from "../../core/index.ts";
import { stopGradient, type Tensor, type Value } from "../../engine/index.ts";
import type { Loss } from "../../losses/index.ts";
import type { Params } from "../../nn/index.ts";
import type { Experience, PolicyOutputs } from "../experience/experience.ts";
import type { Policy } from "../policies/policy.ts";
import { atOnce, captured, checkForgets } from "./memoryless.ts";
import { type LossSettings, settingsOf } from "./options.ts";
import { countedRows, meanOf } from "./valid.ts";

/** Options of {@link kickstartLoss}. */
export interface KickstartLossOptions extends LossSettings {
  /** A policy over the same spaces and of the same kind of distribution, without memory. */
  readonly teacher: Policy;
  /** Its parameters, on the device where training runs. They stay as they are and must not be disposed. */
  readonly params: Params<Tensor>;
}

/**
 * Draws the policy to a frozen teacher: the divergence of the policy from the teacher, over the observations gathered.
 * The teacher is asked once, while experience is gathered, and what it would do travels in the field
 * `<name>.parameters`; where a batch lacks it, the teacher is asked on the spot.
 *
 * @example
 * ```ts
 * const kickstart = kickstartLoss({
 *   teacher, params: teacherParams,
 *   weight: linear({ from: 1, to: 0, over: { samples: 500_000 } }),
 * });
 * ```
 */
export function kickstartLoss(options: KickstartLossOptions): Loss<Experience, PolicyOutputs> {
  const kind = "kickstartLoss";
  checkNames(kind, options, ["teacher", "params", "weight", "active", "name"]);
  const { teacher, params } = options;
  checkForgets(kind, "a teacher", teacher);
  const { distribution } = teacher;
  const settings = settingsOf("kickstart", 1, options);
  const field = `${settings.name}.parameters`;
  const taught = (batch: Experience): Value =>
    atOnce(teacher, captured(params), batch.observation, batch.mask).parameters;
  return {
    ...settings,
    fields: { [field]: { shape: [distribution.parameters], dtype: "f32" } },
    rollout: ({ batch }) => ({ [field]: taught(batch) }),
    term: ({ batch, outputs }) => {
      const wanted = stopGradient(batch[field] ?? taught(batch));
      const kl = countedRows(distribution.kl(wanted, outputs.parameters), batch.valid);
      return { loss: meanOf(kl, batch.valid) };
    },
  };
}
