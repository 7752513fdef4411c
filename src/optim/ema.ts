import { applyUpdates } from "./apply.ts";
import { blend } from "./blend.ts";
import { wide } from "./leaves.ts";
import { initMoments, updateMoments } from "./moments.ts";
import type { Optimizer } from "./optimizer.ts";
import { checkOptions, fraction } from "./options.ts";
import { readRates } from "./rates.ts";

/** How slowly the average moves. */
export interface EmaOptions {
  /** What remains of the average in each step, a rate; 0.999 unless given. */
  readonly decay?: number | undefined;
}

/**
 * Keeps a moving average of the parameters as they will be after this update, in the state's `average`, starting from
 * the first ones. It changes no updates; put it last in a chain. Equals `torch.optim.swa_utils.AveragedModel` with
 * `get_ema_multi_avg_fn`.
 *
 * @example
 * ```ts
 * const optimizer = optim.chain(optim.adam(), optim.ema({ decay: 0.999 }));
 * const smooth = optim.treeIn(state, "average"); // a tree like the parameters
 * ```
 */
export function ema(options: EmaOptions = {}): Optimizer {
  checkOptions("ema", options, { decay: fraction });
  const { decay = 0.999 } = options;
  return {
    kind: "ema",
    rates: { decay },
    init: (params) => initMoments("ema", params, (_path, param) => ({ average: wide(param) })),
    update: (grads, state, params, rates) => {
      const rate = readRates("ema", { decay }, rates);
      const next = applyUpdates(params, grads);
      const { moments } = updateMoments("ema", grads, state, next, ({ param, grad, moment }) => ({
        update: grad,
        moments: { average: blend(rate.decay, moment("average"), param) },
      }));
      return { updates: grads, state: moments };
    },
  };
}
