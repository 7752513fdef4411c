import { type Options, option } from "../../core/index.ts";
import { np, type Value } from "../../engine/index.ts";
import type { Loss } from "../../losses/index.ts";
import type { Schedule } from "../../schedule/index.ts";
import { orRamp } from "../option-rows.ts";

/** Rows of {@link LossOptions} in option tables. */
export const lossRows = {
  weight: orRamp(option.number({})),
  /** When the loss is active. Default: always. */
  active: option.object<{ readonly rollout?: Schedule; readonly train?: Schedule }>(
    "schedules such as { train: every({ epochs: 2 }) }",
    [],
    {},
  ),
  /** A name of its own, where there are two of a kind. */
  name: option.text({}),
};

/** Options that every loss here has. */
export interface LossOptions extends Options<typeof lossRows> {}

/** The members of a loss that come from {@link LossOptions}. */
export function lossMembers(
  name: string,
  weight: number,
  given: LossOptions,
): Pick<Loss, "name" | "weight" | "active"> {
  return {
    name: given.name ?? name,
    weight: given.weight ?? weight,
    ...(given.active && { active: given.active }),
  };
}

/** x in valid rows and 0 elsewhere, so that a NaN in other rows reaches neither sums nor derivatives. */
export const maskRows = (x: Value, valid: Value): Value =>
  np.where(np.notEqual(valid, 0), x, np.zerosLike(x));

/**
 * The mean of [rows] over valid rows; 0 if there are none.
 *
 * @example
 * ```ts
 * const loss = meanOf(np.square(outputs.value.sub(batch.return)), batch.valid);
 * ```
 */
export const meanOf = (x: Value, valid: Value): Value =>
  np.divide(np.sum(maskRows(x, valid)), np.maximum(np.sum(valid), 1));

/** The variance over valid rows. */
export function varianceOf(x: Value, valid: Value): Value {
  return meanOf(np.square(x.sub(meanOf(x, valid))), valid);
}

/**
 * Numbers minus their mean, divided by their standard deviation, both over valid rows: PPO's normalization of
 * advantages. The deviation is that of a sample (n - 1) plus 1e-8, as in PyTorch implementations. A single row stays as
 * it is: minus its own mean it would always be 0.
 */
export function normalizedOver(x: Value, valid: Value): Value {
  if (x.size === 1) return maskRows(x, valid);
  const centered = maskRows(x.sub(meanOf(x, valid)), valid);
  const others = np.maximum(np.sum(valid).sub(1), 1);
  return centered.div(np.sqrt(np.sum(np.square(centered)).div(others)).add(1e-8));
}
