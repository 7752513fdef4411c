import type { Stateful } from "../../state/index.ts";

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
