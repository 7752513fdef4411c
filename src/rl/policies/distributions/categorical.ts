import { badOption, checkSize, shown } from "../../../core/index.ts";
import { nn, np, random, type Value } from "../../../engine/index.ts";
import type { Distribution } from "../policy.ts";
import { actionsOf, type ChoiceGroup, choiceGroups, logitsOf } from "./choice-groups.ts";
import { drawChoice } from "./draw-choice.ts";

/** Logits of what is forbidden. Its probability is exactly 0, and finite logits give finite gradients. */
const forbidden = -1e9;

/**
 * One of `n` choices. Parameters are logits [..., n]; actions are whole numbers in f32 [..., 1].
 *
 * @example
 * ```ts
 * const distribution = categorical(4);
 * const action = distribution.sample(logits, key); // inside compile: f32[rows,4] gives f32[rows,1]
 * ```
 */
export const categorical = (n: number): Distribution =>
  overChoices("categorical", [checkSize("categorical", "n", n)]);

/**
 * Several choices at once, each by itself. Parameters are the logits of all in a row; actions [..., choices].
 *
 * @example
 * ```ts
 * const distribution = multiCategorical([5, 2]); // 7 logits, 2 actions
 * ```
 */
export function multiCategorical(choices: readonly number[]): Distribution {
  const kind = "multiCategorical";
  if (!Array.isArray(choices) || choices.length === 0)
    throw badOption(kind, `${shown(choices)} is no list of choices`, "give e.g. [5, 2]");
  return overChoices(
    kind,
    choices.map((n, i) => checkSize(kind, `choices[${i}]`, n)),
  );
}

function overChoices(kind: string, sizes: readonly number[]): Distribution {
  const groups = choiceGroups(sizes);
  /** Sums over choices of what is computed for each group, [..., count]. */
  const summed = (each: (group: ChoiceGroup) => Value): Value =>
    groups.map((group) => np.sum(each(group), { axis: -1 })).reduce((a, b) => np.add(a, b));
  /** Rows of actions from those of each group, [..., count]. */
  const joined = (each: (group: ChoiceGroup, index: number) => Value): Value => {
    const [first, ...rest] = groups.map(each) as [Value, ...Value[]];
    return rest.length === 0 ? first : np.concatenate([first, ...rest], { axis: -1 });
  };
  const logs = (parameters: Value, group: ChoiceGroup): Value => nn.logSoftmax(logitsOf(parameters, group));
  return {
    kind,
    parameters: sizes.reduce((sum, n) => sum + n, 0),
    actions: sizes.length,
    sample: (parameters, key) =>
      joined((group, i) =>
        drawChoice(logitsOf(parameters, group), groups.length === 1 ? key : random.foldIn(key, i)),
      ),
    mode: (parameters) =>
      joined((group) => np.astype(np.argmax(logitsOf(parameters, group), { axis: -1 }), "f32")),
    logProb: (parameters, action) =>
      summed((group) => {
        const chosen = np.expandDims(actionsOf(action, group), -1);
        const is = np.equal(chosen, np.arange(group.n, { dtype: "f32" }));
        return np.sum(np.where(is, logs(parameters, group), 0), { axis: -1 });
      }),
    entropy: (parameters) =>
      summed((group) => {
        const log = logs(parameters, group);
        return np.negative(mean(log, log));
      }),
    kl: (p, q) =>
      summed((group) => {
        const log = logs(p, group);
        return mean(log, np.subtract(log, logs(q, group)));
      }),
    act: (action) => action,
    masked: (parameters, mask) => np.where(mask, parameters, forbidden),
  };
}

/** The mean of x under log-probabilities. What never happens counts nothing, be it infinite. */
function mean(log: Value, x: Value): Value {
  const p = np.exp(log);
  return np.sum(np.multiply(p, np.where(np.greater(p, 0), x, 0)), { axis: -1 });
}
