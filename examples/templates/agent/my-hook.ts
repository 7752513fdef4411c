import { every, type TrainerHook } from "espalier";
import { evaluationScores } from "espalier/hooks";

/** Ends the run once the mean return of an evaluation reaches `target`. */
export function stopWhenSolved({ target = 0.9 }: { readonly target?: number } = {}): TrainerHook {
  return {
    name: "stop when solved",
    schedule: every({ epochs: 1 }),
    wants: [evaluationScores],
    onEpochEnd({ slots, stop }) {
      const score = slots.get(evaluationScores)?.scores.return;
      if (score !== undefined && score >= target) stop(`the mean return is ${score}`);
    },
  };
}
