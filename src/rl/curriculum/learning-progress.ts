import { EspalierError, shown } from "../../core/index.ts";
import type { StateTree } from "../../state/index.ts";
import { moved } from "./average.ts";
import type { Curriculum, LessonResult } from "./curriculum.ts";
import { checkSameLessons } from "./names.ts";
import { Pool } from "./pool.ts";
import { normalised, progressShares, rawProgress } from "./progress.ts";
import { type LearningProgressOptions, type ProgressPlan, progressPlan } from "./progress-options.ts";
import { checkedResults } from "./results.ts";

/** Lessons up to which each has metrics of its own. */
const MOST_METRICS = 64;

class LearningProgress implements Curriculum {
  readonly lessons: readonly string[];
  readonly #plan: ProgressPlan;
  readonly #fast: Float64Array;
  readonly #slow: Float64Array;
  readonly #episodes: Float64Array;
  readonly #pool: Pool;
  #shares: Float32Array | undefined;

  constructor(plan: ProgressPlan) {
    this.#plan = plan;
    this.lessons = plan.lessons;
    this.#fast = new Float64Array(this.lessons.length);
    this.#slow = new Float64Array(this.lessons.length);
    this.#episodes = new Float64Array(this.lessons.length);
    this.#pool = new Pool(this.lessons.length, plan.pool);
  }

  shares(): Float32Array {
    if (this.#shares) return this.#shares;
    const { active } = this.#pool;
    const shares = new Float32Array(this.lessons.length);
    progressShares(active.map((i) => this.#progress(i))).forEach((share, k) => {
      shares[active[k] as number] = share;
    });
    this.#shares = shares;
    return shares;
  }

  trained(results: readonly LessonResult[]): void {
    const checked = checkedResults(this.lessons, results);
    if (checked.length === 0) return;
    for (const result of checked) this.#take(result);
    const { evictAfter, evictBelow } = this.#plan;
    this.#pool.evict((lesson) => this.#progress(lesson), evictAfter, evictBelow);
    this.#shares = undefined;
  }

  /** Progress is a matter of training: evaluations are few, and come in lumps. */
  evaluated(results: readonly LessonResult[]): void {
    checkedResults(this.lessons, results);
  }

  metrics(): Readonly<Record<string, number>> {
    const tried = this.#episodes.filter((episodes) => episodes > 0).length;
    const shares = this.shares();
    const entropy = shares.reduce((sum, p) => sum - (p > 0 ? p * Math.log(p) : 0), 0);
    const { active, evicted } = this.#pool;
    const metrics: Record<string, number> = { active: active.length, tried, evicted, entropy };
    if (this.lessons.length > MOST_METRICS) return metrics;
    const { baseline } = this.#plan.numbers;
    this.lessons.forEach((name, i) => {
      metrics[`share.${name}`] = shares[i] as number;
      metrics[`progress.${name}`] = this.#progress(i);
      if (this.#episodes[i]) metrics[`score.${name}`] = (this.#fast[i] as number) * (1 - baseline) + baseline;
    });
    return metrics;
  }

  getState(): StateTree {
    return {
      lessons: this.lessons,
      fast: this.#fast.slice(),
      slow: this.#slow.slice(),
      episodes: this.#episodes.slice(),
      pool: this.#pool.getState(),
    };
  }

  setState(state: StateTree): void {
    const saved = (state ?? {}) as { readonly [name: string]: StateTree };
    checkSameLessons("learningProgressCurriculum", saved.lessons, this.lessons);
    this.#fast.set(saved.fast as Float64Array);
    this.#slow.set(saved.slow as Float64Array);
    this.#episodes.set(saved.episodes as Float64Array);
    this.#pool.setState(saved.pool as StateTree);
    this.#shares = undefined;
  }

  #progress(i: number): number {
    return rawProgress(this.#fast[i] as number, this.#slow[i] as number, this.#plan.numbers);
  }

  #take(result: LessonResult): void {
    const { lesson, episodes } = result;
    const score = this.#plan.score(result);
    if (Number.isNaN(score) || typeof score !== "number")
      throw new EspalierError(
        "CURRICULUM_RESULT",
        `score gave ${shown(score)} for lesson "${this.lessons[lesson]}"`,
        {
          fix: "let `score` give a number from 0 to 1 for every result",
        },
      );
    const value = normalised(score, this.#plan.numbers.baseline);
    const first = this.#episodes[lesson] === 0;
    for (const [average, rate] of [
      [this.#fast, this.#plan.fast],
      [this.#slow, this.#plan.slow],
    ] as const)
      average[lesson] = first ? value : moved(average[lesson] as number, value, rate, episodes);
    this.#episodes[lesson] = (this.#episodes[lesson] as number) + episodes;
    this.#pool.completed(lesson, episodes);
  }
}

/**
 * Draws most often what is being learned: lessons whose scores are on the move, upwards or downwards. Of every lesson
 * there is a fast and a slow average of its scores; how far they are apart is its progress. Lessons without any are
 * still drawn now and then.
 *
 * The first result sets both averages. A result of n episodes with mean m counts as n episodes of m each: an average
 * goes the share 1 - (1 - rate)^n of the way. With more lessons than the pool holds, those of the pool that make least
 * progress leave it for those that wait, and wait themselves; what is known of them is kept.
 *
 * @example
 * ```ts
 * const curriculum = learningProgressCurriculum({
 *   lessons: environment.lessons,
 *   score: ({ return: mean }) => mean / 500,
 * });
 * ```
 */
export const learningProgressCurriculum = (options: LearningProgressOptions): Curriculum =>
  new LearningProgress(progressPlan(options));
