import { read } from "../../engine/index.ts";
import type { Report } from "../../trainer/index.ts";
import type { Curriculum, LessonResult } from "../curriculum/curriculum.ts";
import type { Done } from "./runner.ts";
import type { Stretch } from "./stretch.ts";

/** What the trainer is told of a call. The curriculum hears of its episodes first; `tell` of its last rollout. */
export function reportOf(
  done: Done,
  stretches: readonly Stretch[],
  curriculum: Curriculum | undefined,
  tell: (figures: Readonly<Record<string, number>>) => void,
): Report | Promise<Report> {
  const rollouts = stretches.reduce((sum, stretch) => sum + stretch.rollouts, 0);
  const updates = stretches.reduce((sum, stretch) => sum + stretch.count, 0);
  const { applied, ...metrics } = done.values;
  // A program has room for both phases: what the phase that was not asked for gives is nothing.
  const report: Report =
    updates === 0
      ? { metrics: done.rollout }
      : {
          metrics,
          ...(applied && { applied }),
          ...(done.nonFinite && { nonFinite: done.nonFinite }),
          ...(rollouts > 0 && { rollout: done.rollout }),
        };
  if (rollouts === 0) return report;
  const known = done.counted;
  if (known) {
    tell(known.figures);
    if (known.lessons.length > 0) curriculum?.trained(known.lessons);
    return { ...report, counted: { episodes: known.episodes } };
  }
  const names = Object.keys(done.rollout);
  return read({
    rollout: done.rollout,
    ...(done.fault && { fault: done.fault.found }),
    ...(done.lessons && curriculum && { lessons: done.lessons }),
  }).then((found) => {
    for (let i = 0; i < rollouts && found.fault; i++) {
      const code = (found.fault as Int32Array)[i] as number;
      if (code >= 0) throw done.fault?.error(i, code);
    }
    if (curriculum && found.lessons)
      curriculum.trained(lessonResults(found.lessons as Float32Array, curriculum.lessons.length));
    const figures = found.rollout as Readonly<Record<string, Float32Array>>;
    tell(Object.fromEntries(names.map((name) => [name, figures[name]?.[rollouts - 1] as number])));
    return { ...report, counted: { episodes: figures.episodes as Float32Array } };
  });
}

/** The last rollout's episodes by lesson, of [rollouts, lessons, 3]. */
function lessonResults(sums: Float32Array, lessons: number): readonly LessonResult[] {
  return Array.from({ length: lessons }, (_, lesson) => {
    const [episodes, returns, positive] = sums.subarray(lesson * 3, lesson * 3 + 3) as unknown as number[];
    const count = episodes as number;
    return {
      lesson,
      episodes: count,
      return: (returns as number) / count,
      positive: (positive as number) / count,
    };
  }).filter(({ episodes }) => episodes > 0);
}
