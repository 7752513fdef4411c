import type { StateTree } from "../../state/index.ts";
import type { Curriculum, CurriculumEvent, LessonResult } from "./curriculum.ts";
import { type LessonCurriculumOptions, type LessonPlan, lessonPlan } from "./lesson-options.ts";
import { LessonRecord } from "./lesson-record.ts";
import { lessonShares } from "./lesson-shares.ts";
import { checkSameLessons } from "./names.ts";
import { checkedResults } from "./results.ts";

const [LOCKED, ACTIVE, GRADUATED] = [0, 1, 2];
/** Events that are kept where nobody asks for them, and lessons up to which each has metrics of its own. */
const [MOST_EVENTS, MOST_METRICS] = [64, 64];

class LessonCurriculum implements Curriculum {
  readonly lessons: readonly string[];
  readonly #plan: LessonPlan;
  readonly #training: LessonRecord;
  readonly #evaluation: LessonRecord;
  readonly #status: Uint8Array;
  #takenBack = 0;
  #events: CurriculumEvent[] = [];
  #shares: Float32Array | undefined;

  constructor(plan: LessonPlan) {
    this.lessons = plan.lessons;
    this.#plan = plan;
    this.#training = new LessonRecord(plan);
    this.#evaluation = new LessonRecord(plan);
    this.#status = Uint8Array.from(plan.dependencies, (before) => (before.length === 0 ? ACTIVE : LOCKED));
  }

  shares(): Float32Array {
    this.#shares ??= this.#computeShares();
    return this.#shares;
  }

  trained(results: readonly LessonResult[]): void {
    const checked = checkedResults(this.lessons, results);
    for (const result of checked) this.#training.add(result);
    if (checked.length === 0) return;
    this.#unlock();
    this.#shares = undefined;
  }

  evaluated(results: readonly LessonResult[]): void {
    for (const result of checkedResults(this.lessons, results)) {
      this.#evaluation.add(result);
      this.#judge(result.lesson);
    }
    this.#unlock();
    this.#shares = undefined;
  }

  takeEvents(): readonly CurriculumEvent[] {
    const events = this.#events;
    this.#events = [];
    return events;
  }

  metrics(): Readonly<{ [name: string]: number }> {
    const count = (status: number): number => this.#status.filter((each) => each === status).length;
    const metrics: { [name: string]: number } = {
      unlocked: this.lessons.length - count(LOCKED),
      graduated: count(GRADUATED),
      takenBack: this.#takenBack,
    };
    if (this.lessons.length > MOST_METRICS) return metrics;
    this.lessons.forEach((name, i) => {
      metrics[`share.${name}`] = this.shares()[i] as number;
      metrics[`score.${name}`] = this.#training.scores[i] as number;
      const mean = this.#training.returns[i]?.mean;
      if (mean !== undefined) metrics[`return.${name}`] = mean;
      if (this.#evaluation.episodes[i]) metrics[`evaluation.${name}`] = this.#evaluation.scores[i] as number;
    });
    return metrics;
  }

  getState(): StateTree {
    return {
      lessons: this.lessons,
      training: this.#training.getState(),
      evaluation: this.#evaluation.getState(),
      status: this.#status.slice(),
      takenBack: this.#takenBack,
      events: this.#events.map((event) => ({ ...event })),
    };
  }

  setState(state: StateTree): void {
    const saved = (state ?? {}) as { readonly [name: string]: StateTree };
    checkSameLessons("lessonCurriculum", saved.lessons, this.lessons);
    this.#training.setState(saved.training as StateTree);
    this.#evaluation.setState(saved.evaluation as StateTree);
    this.#status.set(saved.status as Uint8Array);
    this.#takenBack = saved.takenBack as number;
    this.#events = (saved.events as readonly CurriculumEvent[]).map((event) => ({ ...event }));
    this.#shares = undefined;
  }

  #computeShares(): Float32Array {
    const { fading, floor } = this.#plan;
    const all = [...this.lessons.keys()];
    const active = all.filter((i) => this.#status[i] === ACTIVE);
    // When all that can be learned has been, what has been is kept up. The first lesson is never locked.
    const drawn = active.length > 0 ? active : all.filter((i) => this.#status[i] === GRADUATED);
    const { scores, episodes } = this.#training;
    const standings = drawn.map((i) => ({ score: scores[i] as number, episodes: episodes[i] as number }));
    const shares = new Float32Array(this.lessons.length);
    lessonShares(standings, fading, floor).forEach((share, k) => {
      shares[drawn[k] as number] = share;
    });
    return shares;
  }

  /** Begins lessons all of whose dependencies are good enough and have stopped moving, or have graduated. */
  #unlock(): void {
    const { dependencies, thresholds, plateau } = this.#plan;
    const { scores, returns } = this.#training;
    const ready = (i: number): boolean =>
      this.#status[i] === GRADUATED ||
      (this.#status[i] === ACTIVE &&
        (scores[i] as number) >= (thresholds[i] as number) &&
        returns[i]?.isPlateau(plateau) === true);
    const unlocked = dependencies.flatMap((before, i) =>
      this.#status[i] === LOCKED && before.every(ready) ? [i] : [],
    );
    for (const i of unlocked) this.#turn(i, ACTIVE, "unlocked");
  }

  /** Whether evaluation says that a lesson is done with, or is not any more. */
  #judge(i: number): void {
    const { stops, margin, plateau } = this.#plan;
    const score = this.#evaluation.scores[i] as number;
    const stop = stops[i] as number;
    const returns = this.#evaluation.returns[i];
    if (this.#status[i] === ACTIVE && score >= stop && returns?.isPlateau(plateau))
      this.#turn(i, GRADUATED, "graduated");
    else if (this.#status[i] === GRADUATED && score < stop - margin) {
      this.#turn(i, ACTIVE, "taken back");
      this.#takenBack++;
      // What training last knew of it is no longer so; what the evaluation found is where it stands.
      this.#training.scores[i] = score;
      this.#training.returns[i]?.clear();
    }
  }

  #turn(i: number, status: number, what: CurriculumEvent["what"]): void {
    this.#status[i] = status;
    this.#events.push({ lesson: this.lessons[i] as string, what });
    if (this.#events.length > MOST_EVENTS) this.#events.shift();
  }
}

/**
 * Lessons that build on each other. A lesson's score s is a moving average of how many of its episodes have a return
 * above 0; it is drawn by max(0, 4s - 4s^2) (1 + e^(-0.01 n)), so that what is half known comes most often.
 *
 * - It begins when every lesson it comes after has a training score of at least that lesson's `threshold` and its
 *   returns have stopped moving (`plateau`). What has begun stays.
 * - It graduates, and is not drawn any more, when its evaluation score is at least its `stop` and its returns in
 *   evaluations have stopped moving.
 * - It is taken back when an evaluation finds its score more than `margin` below its `stop`: it is drawn again, with
 *   that score, and may graduate again.
 *
 * Results are means over episodes. A result of n episodes counts as n episodes of that mean each: a score goes the
 * share 1 - (1 - rate)^n of the way.
 *
 * @example
 * ```ts
 * const curriculum = lessonCurriculum({
 *   lessons: [
 *     { name: "corridor", threshold: 0.7 },
 *     { name: "door", after: ["corridor"], stop: 0.95 },
 *     { name: "maze", after: ["corridor", "door"] },
 *   ],
 * });
 * ```
 */
export const lessonCurriculum = (options: LessonCurriculumOptions): Curriculum =>
  new LessonCurriculum(lessonPlan(options));
