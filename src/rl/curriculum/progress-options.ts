import { badOption, checkNames, checkSize, shown } from "../../core/index.ts";
import type { LessonResult } from "./curriculum.ts";
import { between, checkedLessons } from "./names.ts";
import type { ProgressNumbers } from "./progress.ts";

/** Options of {@link learningProgressCurriculum}. */
export interface LearningProgressOptions {
  /** Their names. */
  readonly lessons: readonly string[];
  /** How good episodes were, from 0 to 1; what lies outside is clipped. Default: their mean return. */
  readonly score?: (result: LessonResult) => number;
  /** How far one episode moves the two averages. Default 0.001 and 0.0002. */
  readonly fast?: number;
  readonly slow?: number;
  /** The score that chance gives. Default 0.5. */
  readonly baseline?: number;
  /** How much small averages are spread: th in x (1 - th) / (x + th (1 - 2x)). Default 0.05. */
  readonly smoothing?: number;
  /** What being good counts beside becoming better. Default 0.1. */
  readonly bonus?: number;
  /** The progress of a lesson that makes none. Default 0.1. */
  readonly least?: number;
  /** Lessons that are drawn at a time. Default 64. */
  readonly pool?: number;
  /** Episodes after which a lesson may leave the pool for one that waits. Default 5. */
  readonly evictAfter?: number;
  /** It leaves if it is in this bottom share of the pool. Default 0.4. */
  readonly evictBelow?: number;
}

export interface ProgressPlan extends Required<Omit<LearningProgressOptions, keyof ProgressNumbers>> {
  readonly numbers: ProgressNumbers;
}

const kind = "learningProgressCurriculum";
const averaging = ["lessons", "score", "fast", "slow", "baseline", "smoothing", "bonus", "least"];

export function progressPlan(options: LearningProgressOptions): ProgressPlan {
  checkNames(kind, options, [...averaging, "pool", "evictAfter", "evictBelow"]);
  const { score = ({ return: mean }) => mean } = options;
  if (typeof score !== "function")
    throw badOption(kind, `score is ${shown(score)}`, "give a function of a result: (result) => number");
  const share = (option: keyof LearningProgressOptions, usual: number): number =>
    between(kind, option, options[option] as number | undefined, usual, [0, 1]);
  return {
    lessons: checkedLessons(kind, options.lessons),
    score,
    fast: share("fast", 0.001),
    slow: share("slow", 0.0002),
    numbers: {
      baseline: between(kind, "baseline", options.baseline, 0.5, [0, 0.99]),
      smoothing: between(kind, "smoothing", options.smoothing, 0.05, [1e-6, 0.5]),
      bonus: share("bonus", 0.1),
      least: share("least", 0.1),
    },
    pool: checkSize(kind, "pool", options.pool ?? 64),
    evictAfter: checkSize(kind, "evictAfter", options.evictAfter ?? 5),
    evictBelow: share("evictBelow", 0.4),
  };
}
