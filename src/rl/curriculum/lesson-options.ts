import { badOption, checkNames, checkSize, shown } from "../../core/index.ts";
import { dependenciesOf } from "./dependencies.ts";
import { between, checkedLessons } from "./names.ts";
import type { Plateau, PlateauOptions } from "./returns.ts";

/** A lesson of a `lessonCurriculum`. */
export interface Lesson {
  readonly name: string;
  /** Lessons that must be good enough before this one begins. Without any it is there from the start. */
  readonly after?: readonly string[];
  /** The training score from which lessons that come after it may begin. Default 0.8. */
  readonly threshold?: number;
  /** The evaluation score from which it is done with. Default: never. */
  readonly stop?: number;
}

/** Options of {@link lessonCurriculum}. */
export interface LessonCurriculumOptions {
  readonly lessons: readonly Lesson[];
  /** How far one episode moves a score. Default 0.1. */
  readonly rate?: number;
  /** A score before the first episode. Default 0.5. */
  readonly prior?: number;
  /** Episodes whose returns are remembered. Default 1000. */
  readonly window?: number;
  /** What a lesson is drawn more often while it is new is gone at this rate per episode. Default 0.01. */
  readonly fading?: number;
  /** The least share before shares are made to sum to 1 again. Default 0.1. */
  readonly floor?: number;
  readonly plateau?: PlateauOptions;
  /** A graduated lesson whose evaluation score is by more than this below its `stop` is taken back. Default 0.1. */
  readonly margin?: number;
}

export interface LessonPlan {
  readonly lessons: readonly string[];
  readonly dependencies: readonly (readonly number[])[];
  readonly thresholds: readonly number[];
  /** Infinite where a lesson never graduates. */
  readonly stops: readonly number[];
  readonly rate: number;
  readonly prior: number;
  readonly window: number;
  readonly fading: number;
  readonly floor: number;
  readonly plateau: Plateau;
  readonly margin: number;
}

const kind = "lessonCurriculum";

export function lessonPlan(options: LessonCurriculumOptions): LessonPlan {
  checkNames(kind, options, ["lessons", "rate", "prior", "window", "fading", "floor", "plateau", "margin"]);
  const { lessons: given, plateau = {} } = options;
  const lessons = checkedLessons(kind, Array.isArray(given) ? given.map((lesson) => lesson?.name) : []);
  for (const lesson of given) checkLesson(lesson);
  const share = (option: string, value: number | undefined, usual: number): number =>
    between(kind, option, value, usual, [0, 1]);
  checkNames("plateau", plateau, ["over", "results", "slope", "variation"]);
  const over = checkSize(kind, "plateau.over", plateau.over ?? 50);
  const window = checkSize(kind, "window", options.window ?? Math.max(1000, over));
  if (over < 2 || over > window)
    throw badOption(kind, `plateau.over is ${over}`, `give from 2 to window, which is ${window}`);
  return {
    lessons,
    dependencies: dependenciesOf(given),
    thresholds: given.map(({ name, threshold }) => share(`threshold of "${name}"`, threshold, 0.8)),
    stops: given.map(({ name, stop }) =>
      stop === undefined ? Number.POSITIVE_INFINITY : share(`stop of "${name}"`, stop, 1),
    ),
    rate: share("rate", options.rate, 0.1),
    prior: share("prior", options.prior, 0.5),
    window,
    fading: share("fading", options.fading, 0.01),
    floor: share("floor", options.floor, 0.1),
    plateau: {
      over,
      results: checkSize(kind, "plateau.results", plateau.results ?? 5),
      slope: between(kind, "plateau.slope", plateau.slope, 0.01, [0, Number.POSITIVE_INFINITY]),
      variation: between(kind, "plateau.variation", plateau.variation, 0.1, [0, Number.POSITIVE_INFINITY]),
    },
    margin: share("margin", options.margin, 0.1),
  };
}

function checkLesson(lesson: Lesson): void {
  checkNames(`lesson "${lesson.name}"`, lesson, ["name", "after", "threshold", "stop"]);
  if (lesson.after !== undefined && !Array.isArray(lesson.after))
    throw badOption(
      `lesson "${lesson.name}"`,
      `after is ${shown(lesson.after)}`,
      `give a list of names: after: ["${typeof lesson.after === "string" ? lesson.after : "easy"}"]`,
    );
}
