import { badOption, checkNames, shown } from "../../core/index.ts";
import { np, type Value } from "../../engine/index.ts";
import type { Loss } from "../../losses/index.ts";
import { type LossSettings, settingsOf } from "./options.ts";
import { countedRows, meanOf } from "./valid.ts";

/** What temporal differences are learned from: [rows] each. */
export interface TransitionTargets {
  /** What the taken actions are worth, as the target network sees it. */
  readonly target: Value;
  readonly valid: Value;
  readonly [field: string]: Value;
}

/** What the network that learns gives. */
export interface ActionValues {
  /** What it takes the taken actions to be worth: [rows]. */
  readonly value: Value;
}

/** Options of {@link tdLoss}. */
export interface TdLossOptions extends LossSettings {
  /**
   * Where squares end and straight lines begin. Default nowhere: a mean squared error. Straight lines lean towards
   * medians: where episodes seldom end, what follows an end is hardly heard, and values may grow without bound.
   */
  readonly huber?: number | null | undefined;
}

/**
 * The distance of action values to their targets, as DQN learns it: the squared one, or Huber's. Reports `error`, the
 * mean absolute distance, and `value`, the mean of the action values.
 *
 * @example
 * ```ts
 * const td = tdLoss({ huber: 1 });
 * ```
 */
export function tdLoss(options: TdLossOptions = {}): Loss<TransitionTargets, ActionValues> {
  checkNames("tdLoss", options, ["huber", "weight", "active", "name"]);
  const { huber = null } = options;
  if (huber !== null && !(huber > 0))
    throw badOption("tdLoss", `huber is ${shown(huber)}`, "give a number above 0, or null for squares");
  return {
    ...settingsOf("td", 1, options),
    term: ({ batch, outputs }) => {
      const { valid } = batch;
      const size = np.absolute(countedRows(outputs.value.sub(batch.target), valid));
      return {
        loss: meanOf(huber === null ? np.square(size) : huberOf(size, huber), valid),
        metrics: { error: meanOf(size, valid), value: meanOf(outputs.value, valid) },
      };
    },
  };
}

function huberOf(size: Value, delta: number): Value {
  const curved = np.minimum(size, delta);
  return np.square(curved).mul(0.5).add(size.sub(curved).mul(delta));
}
