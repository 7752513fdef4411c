import { EspalierError } from "../../core/index.ts";
import type { LessonResult } from "./curriculum.ts";

/** Results that have episodes, checked: one number that is none would spoil a curriculum for good. */
export function checkedResults(
  lessons: readonly string[],
  results: readonly LessonResult[],
): readonly LessonResult[] {
  return results.filter((result) => {
    const { lesson, episodes, return: mean, positive } = result;
    const name = lessons[lesson];
    if (name === undefined)
      throw new EspalierError(
        "CURRICULUM_RESULT",
        `a result is of lesson ${lesson}, and the curriculum has ${lessons.length} lessons`,
        { fix: "give results by the index of the lesson, from 0" },
      );
    if (!Number.isFinite(episodes) || episodes < 0) throw wrong(name, `episodes is ${episodes}`);
    if (episodes === 0) return false;
    if (!Number.isFinite(mean)) throw wrong(name, `return is ${mean}`);
    if (!(positive >= 0 && positive <= 1)) throw wrong(name, `positive is ${positive}`);
    return true;
  });
}

const wrong = (lesson: string, what: string): EspalierError =>
  new EspalierError("CURRICULUM_RESULT", `a result of lesson "${lesson}" cannot be used: ${what}`, {
    fix: "give a number of episodes, their mean return, and from 0 to 1 the share of them above 0",
  });
