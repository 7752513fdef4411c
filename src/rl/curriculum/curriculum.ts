import { badOption, EspalierError, type Options, option, resolveOptions, shown } from "../../core/index.ts";
import type { Schedule } from "../../schedule/index.ts";
import type { Stateful } from "../../state/index.ts";
import { type EvaluationScores, evaluationScores, type TrainerHook } from "../../trainer/index.ts";

// Curricula: which lesson the next episodes have.
//
//   training                    draws lessons by curriculum.shares()
//   ended episodes              ──▶ curriculum.trained(results)
//   evaluationHook ─ slot ──▶ curriculumHook ──▶ curriculum.evaluated(results), metrics and events to the log
//
//   lessonCurriculum             lessons that build on each other       lesson-curriculum.ts
//   learningProgressCurriculum   many lessons of unknown order          learning-progress.ts

/** Results of a lesson's episodes. */
export interface LessonResult {
  /** Index of the lesson. */
  readonly lesson: number;
  readonly episodes: number;
  /** Their mean return, and the share of them whose return is above 0. */
  readonly return: number;
  readonly positive: number;
}

/**
 * Decides how often each lesson comes, from the results of training and of evaluations. It draws nothing itself: the
 * training draws lessons by `shares`.
 */
export interface Curriculum extends Stateful {
  readonly lessons: readonly string[];
  /** Probabilities of the lessons, which sum to 1. A new array whenever they change. */
  shares(): Float32Array;
  /** Takes the results of a rollout's ended episodes; lessons without any are left out. */
  trained(results: readonly LessonResult[]): void;
  /** Takes the results of an evaluation, for those lessons that were evaluated. */
  evaluated(results: readonly LessonResult[]): void;
  /** Metrics: shares, scores, unlocked, graduated. */
  metrics(): Readonly<Record<string, number>>;
  /** Returns the events since the last call, in order. Until then they are part of the state. */
  takeEvents?(): readonly CurriculumEvent[];
}

/** A change of a lesson's status. */
export type CurriculumEvent = {
  readonly lesson: string;
  readonly what: "unlocked" | "graduated" | "taken back";
};

const hookTable = {
  /** Default: "curriculum". */
  name: option.text({ default: "curriculum" }),
  /** Default: at the end of every epoch. */
  schedule: option.object<Schedule>("a schedule: every({ epochs: 5 })", ["due"], {
    doc: "Default: at the end of every epoch.",
  }),
};

/**
 * Passes evaluation scores to a curriculum, and logs its metrics and events (`event.door`: unlocked, graduated or taken
 * back) under `curriculum`. It reads scores named after lessons: `door.return`, `door.positive` and `door.episodes`
 * (default: 1). Each evaluation is passed once, also in a resumed run.
 *
 * The curriculum's own state belongs to the task. This hook's state is the last evaluation it passed.
 *
 * @example
 * ```ts
 * const hooks = [evaluationHook({ suites }), curriculumHook(curriculum)];
 * ```
 */
export function curriculumHook(curriculum: Curriculum, options: Options<typeof hookTable> = {}): TrainerHook {
  const { name, schedule } = resolveOptions("curriculumHook", options, hookTable);
  /** Counters of the last evaluation, which identify it. */
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
      log(curriculumValues(curriculum), "curriculum");
    },
  };
}

/** The values that hooks log of a curriculum: its metrics and its events since the last call. */
export function curriculumValues(curriculum: Curriculum): Readonly<Record<string, number | string>> {
  // A name for every lesson: of texts under one name, only the last of a window is kept.
  const events = (curriculum.takeEvents?.() ?? []).map(({ lesson, what }) => [`event.${lesson}`, what]);
  return { ...curriculum.metrics(), ...Object.fromEntries(events) };
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

/** The curriculum's shares. Refuses what are no probabilities of its lessons. */
export function sharesOf(curriculum: Curriculum): Float32Array {
  const shares = curriculum.shares();
  const { length } = curriculum.lessons;
  const sum = Array.from(shares ?? []).reduce((sum, share) => sum + (share >= 0 ? share : Number.NaN), 0);
  if (shares?.length === length && Math.abs(sum - 1) < 1e-3) return shares;
  throw new EspalierError(
    "CURRICULUM_INVALID",
    `shares() of the curriculum gave ${shown(shares)} for ${length} lessons`,
    { fix: "give a Float32Array with one probability for each lesson, which sum to 1" },
  );
}

/** Checks results and leaves out those without episodes: a single NaN would stay in a curriculum's averages. */
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

/** Refuses lessons without names, and names that appear twice. */
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
    { fix: "restore it into a curriculum with the same lessons in the same order" },
  );
}

/**
 * A moving average after `episodes` more values whose mean is `mean`: it moves by the share 1 - (1 - rate)^episodes, as
 * if every value had been the mean.
 */
export const moved = (average: number, mean: number, rate: number, episodes: number): number =>
  average + (mean - average) * (1 - (1 - rate) ** episodes);
