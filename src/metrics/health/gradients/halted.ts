import { EspalierError } from "../../../core/index.ts";
import { figure } from "../figure.ts";
import type { Ailment, GradientPlan } from "./options.ts";

interface Occasion {
  readonly inRow: number;
  readonly update: number;
  readonly figure: number;
  readonly plan: GradientPlan;
}

/** The error with which a run is halted: a halted run has failed, so that its checkpoints stay as they are. */
export function halted(ailment: Ailment, { inRow, update, figure: value, plan }: Occasion): EspalierError {
  const { values, vanishing, exploding, name } = plan;
  const [code, what, fix] = {
    notFinite: [
      "GRADIENTS_NOT_FINITE",
      "gradients were not finite",
      "lower the learning rate, clip by optim.clipByGlobalNorm, skip such updates by optim.skipNonFinite, " +
        "and look in the loss for divisions and logarithms of 0",
    ],
    exploding: [
      "GRADIENTS_EXPLODING",
      `gradient norms were above ${exploding}`,
      "lower the learning rate, clip by optim.clipByGlobalNorm, or raise `exploding`",
    ],
    vanishing: [
      "GRADIENTS_VANISHING",
      `gradient norms were below ${vanishing}`,
      "look for layers that saturate or are cut off, raise the learning rate, or lower `vanishing`",
    ],
  }[ailment] as [string, string, string];
  const where = inRow === 1 ? `update ${update}` : `${inRow} updates in a row, up to update ${update}`;
  return new EspalierError(code, `${what} in ${where} (${values.join(", ")} ${figure(value)})`, {
    fix: `${fix}; then go on from the last checkpoint. \`halt\` of ${name} says how many are borne`,
    update,
  });
}
