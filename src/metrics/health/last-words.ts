import type { TrainerContext, TrainerHook } from "../../trainer/index.ts";
import type { RowWatch } from "./row-watch.ts";

/**
 * A child that has a hook tell what is left at the run's end: last of all, when whoever saves the run then has frozen
 * it. So a run that was stopped and goes on has told what one that was never stopped has.
 */
export const lastWords = (name: string, watch: RowWatch, tell: () => unknown): TrainerHook => ({
  name: `${name}.end`,
  priority: Number.NEGATIVE_INFINITY,
  onTrainingEnd: ({ afterEvent }: TrainerContext) =>
    afterEvent(() => {
      watch.end();
      return tell();
    }),
});
