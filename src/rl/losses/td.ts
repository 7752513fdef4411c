import { checkOptions, type Options, option } from "../../core/index.ts";
import { np, type Value } from "../../engine/index.ts";
import type { Loss } from "../../losses/index.ts";
import { positive } from "../option-rows.ts";
import { lossMembers, lossRows, maskRows, meanOf } from "./loss.ts";

/** The batch of {@link tdLoss}: [rows] each. */
export interface TransitionTargets {
  /** The target value of the taken actions. */
  readonly target: Value;
  readonly valid: Value;
  readonly [field: string]: Value;
}

/** The output of the learning network. */
export interface ActionValues {
  /** The values of the taken actions: [rows]. */
  readonly value: Value;
}

const table = {
  ...lossRows,
  /**
   * The distance at which the Huber loss becomes linear; null for a mean squared error. A Huber loss learns medians:
   * where episodes seldom end, terminal targets count little, and values may grow without bound. Default: null.
   */
  huber: option.either(
    positive,
    option.made<null>("null for squares", (value) => value === null, {}),
    {},
  ),
};

/**
 * DQN's loss: the squared or Huber distance of action values to their targets. Reports `error`, the mean absolute
 * distance, and `value`, the mean of the action values.
 *
 * @example
 * ```ts
 * const td = tdLoss({ huber: 1 });
 * ```
 */
export function tdLoss(options: Options<typeof table> = {}): Loss<TransitionTargets, ActionValues> {
  checkOptions("tdLoss", options, table);
  const { huber = null } = options;
  return {
    ...lossMembers("td", 1, options),
    term: ({ batch, outputs }) => {
      const { valid } = batch;
      const size = np.absolute(maskRows(outputs.value.sub(batch.target), valid));
      return {
        loss: meanOf(huber === null ? np.square(size) : huberLoss(size, huber), valid),
        metrics: { error: meanOf(size, valid), value: meanOf(outputs.value, valid) },
      };
    },
  };
}

function huberLoss(size: Value, delta: number): Value {
  const curved = np.minimum(size, delta);
  return np.square(curved).mul(0.5).add(size.sub(curved).mul(delta));
}
