import { checkNames } from "../../core/index.ts";
import type { Schedule } from "../../schedule/index.ts";
import { type EvaluationScores, evaluationScores, type TrainerHook } from "../../trainer/index.ts";
import type { Curriculum, LessonResult } from "./curriculum.ts";

/** Options of {@link curriculumHook}. */
export interface CurriculumHookOptions {
  /** Default `curriculum`. */
  readonly name?: string;
  /** Default: at the end of every epoch. */
  readonly schedule?: Schedule;
}

/**
 * Tells a curriculum what evaluations found, and logs how it is, under `curriculum`: its metrics, and what
 * happened to lessons (`event.door`: unlocked, graduated or taken back). It looks at scores named after lessons: `door.return`,
 * `door.positive` and `door.episodes` (1 unless given); each evaluation is told once, also in a resumed run.
 *
 * The curriculum's own state belongs to the task. All that this hook remembers is which evaluation it told last.
 *
 * @example
 * ```ts
 * const hooks = [evaluationHook({ suites }), curriculumHook(curriculum)];
 * ```
 */
export function curriculumHook(curriculum: Curriculum, options: CurriculumHookOptions = {}): TrainerHook {
  checkNames("curriculumHook", options, ["name", "schedule"]);
  const { name = "curriculum", schedule } = options;
  /** Where the run was when the evaluation was due: what tells one from another. */
  let told: readonly number[] = [];
  return {
    name,
    ...(schedule && { schedule }),
    wants: [evaluationScores],
    state: {
      getState: () => ({ told }),
      setState: (state) => {
        told = [...(state as { readonly told: readonly number[] }).told];
      },
    },
    onEpochEnd: ({ slots, log }) => {
      const found = slots.get(evaluationScores);
      const mark = found ? markOf(found) : [];
      if (found && mark.some((count, i) => count !== told[i])) {
        const results = resultsIn(found.scores, curriculum.lessons);
        if (results.length > 0) curriculum.evaluated(results);
        told = mark;
      }
      // A name of its own for every lesson: of texts under one name, only the last of a window is kept.
      const events = (curriculum.takeEvents?.() ?? []).map(({ lesson, what }) => [`event.${lesson}`, what]);
      log({ ...curriculum.metrics(), ...Object.fromEntries(events) }, "curriculum");
    },
  };
}

const markOf = ({ counters }: EvaluationScores): readonly number[] => [
  counters.epochs,
  counters.batches,
  counters.updates,
  counters.samples,
];

function resultsIn(scores: EvaluationScores["scores"], lessons: readonly string[]): readonly LessonResult[] {
  return lessons.flatMap((name, lesson) => {
    const [mean, positive] = [scores[`${name}.return`], scores[`${name}.positive`]];
    if (mean === undefined || positive === undefined) return [];
    return [{ lesson, episodes: scores[`${name}.episodes`] ?? 1, return: mean, positive }];
  });
}
