import { badOption, checkNames, EspalierError, shown } from "../../core/index.ts";
import type { Schedule } from "../../schedule/index.ts";
import type { Stateful } from "../../state/index.ts";
import { type EvaluationScores, evaluationScores, type TrainerHook } from "../../trainer/index.ts";

/** How a lesson's episodes went. */
export interface LessonResult {
  /** Index of the lesson. */
  readonly lesson: number;
  readonly episodes: number;
  /** Their mean return, and the share of them whose return is above 0. */
  readonly return: number;
  readonly positive: number;
}

/**
 * Decides which lesson comes next. Told how episodes went and what evaluations found; asked for the lessons' shares.
 * Draws nothing itself: whoever runs environments draws lessons by `shares`.
 */
export interface Curriculum extends Stateful {
  readonly lessons: readonly string[];
  /** How often each lesson shall come: numbers from 0 to 1 that sum to 1. A new array whenever they change. */
  shares(): Float32Array;
  /** Training episodes that ended, of a rollout together; lessons without any are left out. */
  trained(results: readonly LessonResult[]): void;
  /** Evaluation episodes, for those lessons that were evaluated. */
  evaluated(results: readonly LessonResult[]): void;
  /** What is worth logging: shares, scores, unlocked, graduated. */
  metrics(): Readonly<Record<string, number>>;
  /** What happened since this was last asked, in order. Until then it is part of the state. */
  takeEvents?(): readonly CurriculumEvent[];
}

/** Something that happens to a lesson once in a while, and that people want to hear of. */
export type CurriculumEvent = {
  readonly lesson: string;
  readonly what: "unlocked" | "graduated" | "taken back";
};

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

/** Lessons' names: some, none twice. */
export function checkedLessons(kind: string, names: readonly unknown[]): readonly string[] {
  if (!Array.isArray(names) || names.length === 0)
    throw badOption(kind, "there are no lessons", 'give their names: lessons: ["easy", "hard"]');
  const seen = new Set<string>();
  for (const name of names) {
    if (typeof name !== "string" || name === "")
      throw badOption(kind, `a lesson is named ${shown(name)}`, "give every lesson a name");
    if (seen.has(name)) throw badOption(kind, `two lessons are named "${name}"`, "rename one of them");
    seen.add(name);
  }
  return [...(names as readonly string[])];
}

/** A number of an option that lies between bounds, or what it is where nothing is given. */
export function between(
  kind: string,
  option: string,
  given: number | undefined,
  usual: number,
  [low, high]: readonly [low: number, high: number],
): number {
  const value = given ?? usual;
  if (typeof value === "number" && value >= low && value <= high) return value;
  throw badOption(kind, `${option} is ${shown(given)}`, `give a number from ${low} to ${high}`);
}

/** Refuses a state of other lessons. */
export function checkSameLessons(kind: string, saved: unknown, lessons: readonly string[]): void {
  if (
    Array.isArray(saved) &&
    saved.length === lessons.length &&
    saved.every((name, i) => name === lessons[i])
  )
    return;
  const theirs = Array.isArray(saved) ? `of the lessons ${saved.join(", ")}` : "of something else";
  throw new EspalierError(
    "STATE_INVALID",
    `this state is ${theirs}, and not of a ${kind} of ${lessons.join(", ")}`,
    {
      fix: "restore it into a curriculum with the same lessons in the same order",
    },
  );
}

/**
 * A moving average after `episodes` more values whose mean is `mean`: it goes the share 1 - (1 - rate)^episodes of the
 * way. So it is where it would be if every one of them had been the mean, which is all that is known of them.
 */
export const moved = (average: number, mean: number, rate: number, episodes: number): number =>
  average + (mean - average) * (1 - (1 - rate) ** episodes);
