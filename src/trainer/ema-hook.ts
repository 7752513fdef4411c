import { EspalierError, type Options, option, resolveOptions } from "../core/index.ts";
import type { TrainerHook } from "./events.ts";

const table = {
  /** Default: `ema`. */
  name: option.text({ default: "ema" }),
  /** The share of the old average that stays at each update. Default: 0.999, about the last thousand updates. */
  decay: option.number({ min: 0, below: 1, default: 0.999 }),
  /** Validation measures the average instead of the parameters. Default: false. */
  validate: option.flag({ default: false }),
};

/** Options of {@link emaHook}. */
export interface EmaHookOptions extends Options<typeof table> {}

/**
 * Keeps an exponential moving average of the parameters, as the component `ema`: `decay * average + (1 - decay) * params`
 * after each update that took effect, from the first parameters on.
 *
 * A handler that runs after batches would keep them from being fused, or miss those within a call. So the hook has the
 * task compute the average inside its update, on the device: it counts every update, fused or not, and costs one more
 * pass over the parameters. `optim.ema` does the same inside an optimizer of one's own.
 *
 * @example
 * ```ts
 * const hooks = [emaHook({ decay: 0.999, validate: true })];
 * const trainer = new Trainer({ task, config, hooks });
 * await trainer.train();
 * const average = await trainer.components.ema.getState(); // a tree like task.params
 * ```
 */
export function emaHook(options: EmaHookOptions = {}): TrainerHook {
  const { name, decay, validate } = resolveOptions("emaHook", options, table);
  return {
    name,
    prepareTask: (task) => {
      if (!task.average)
        throw new EspalierError("TASK_INVALID", `${name}: the task keeps no average of its parameters`, {
          fix: "use a task that trains by gradients, or give your own a function `average`",
        });
      if ("ema" in task.components)
        throw new EspalierError("HOOK_INVALID", `${name}: the task keeps an average already`, {
          fix: "give one emaHook, and a new task to each trainer",
        });
      task.average({ decay, validate });
    },
    // A hook has a handler.
    onTrainingStart: () => undefined,
  };
}
