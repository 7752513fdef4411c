import { np, random } from "../engine/index.ts";
import { layerError } from "./layer.ts";
import type { Model } from "./model.ts";
import { checkArgument, row } from "./options.ts";
import { recipeOf } from "./recipe.ts";

/**
 * While training, sets each element to 0 with probability `rate` and divides the others by what is left, so that sums
 * stay as they are; otherwise does nothing. Needs `key` then.
 *
 * @example
 * ```ts
 * const model = nn.sequential([nn.dense(64), nn.relu, nn.dropout(0.1), nn.dense(2)]);
 * const y = model.apply(params, x, { train: true, key });
 * ```
 */
export function dropout(rate: number): Model {
  checkArgument("dropout", "the rate", rate, row.share);
  return {
    kind: "dropout",
    ...recipeOf("dropout", { rate }),
    init: () => ({}),
    apply: (_params, x, { train = false, key } = {}) => {
      if (!train || rate === 0) return x;
      if (key === undefined)
        throw layerError(
          "dropout",
          "KEY_MISSING",
          "it draws random numbers while training, and was given no key",
          "apply the model with { train: true, key }, a new key for each step",
        );
      if (rate === 1) return np.zerosLike(x);
      const kept = random.bernoulli(key, 1 - rate, x.shape);
      return np.where(kept, np.multiply(x, 1 / (1 - rate)), 0);
    },
  };
}
