import { badOption, checkNames, checkSize, EspalierError, shown } from "../../core/index.ts";
import type { StateTree } from "../../state/index.ts";
import {
  between,
  type Curriculum,
  checkedLessons,
  checkedResults,
  checkSameLessons,
  type LessonResult,
  moved,
} from "./curriculum.ts";

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

/** The numbers in the formulas of learning progress. */
export interface ProgressNumbers {
  /** A score that counts as 0: what chance gives. */
  readonly baseline: number;
  readonly smoothing: number;
  readonly bonus: number;
  readonly least: number;
}

/** A score from 0 to 1 as it is averaged: 0 at the baseline, 1 at 1. */
export const normalised = (score: number, baseline: number): number =>
  (Math.min(Math.max(score, 0), 1) - baseline) / (1 - baseline);

/**
 * Spreads averages near 0, where small steps are great progress: x (1 - th) / (x + th (1 - 2x)). The formula is for 0
 * to 1. Below 0 it has a pole, so what lies there is spread as far to the other side.
 */
export function reweighted(x: number, smoothing: number): number {
  const size = Math.abs(x);
  return (Math.sign(x) * size * (1 - smoothing)) / (size + smoothing * (1 - 2 * size));
}

/** max(|fast - slow| + bonus max(fast, 0), least), of averages that have been reweighted. */
export function rawProgress(fast: number, slow: number, numbers: ProgressNumbers): number {
  const { smoothing, bonus, least } = numbers;
  const [quick, steady] = [reweighted(fast, smoothing), reweighted(slow, smoothing)];
  return Math.max(Math.abs(quick - steady) + bonus * Math.max(quick, 0), least);
}

/** Shares by progress: a z-score where there are more than two lessons, a sigmoid, made to sum to 1. */
export function progressShares(raw: readonly number[]): readonly number[] {
  const squashed = (raw.length > 2 ? zScores(raw) : raw).map((x) => 1 / (1 + Math.exp(-x)));
  const sum = squashed.reduce((all, x) => all + x, 0);
  return squashed.map((x) => x / sum);
}

function zScores(numbers: readonly number[]): readonly number[] {
  const mean = numbers.reduce((sum, x) => sum + x, 0) / numbers.length;
  const deviation = Math.sqrt(numbers.reduce((sum, x) => sum + (x - mean) ** 2, 0) / numbers.length);
  // Rounding alone may leave equal numbers a deviation.
  return numbers.map((x) => (deviation > 1e-12 ? (x - mean) / deviation : 0));
}

/**
 * Lessons that are drawn, where there are too many to draw from all of them. The others wait in a row: whoever leaves
 * goes to its end.
 */
export class Pool {
  /** In the order in which they came in. */
  #active: number[];
  #waiting: number[];
  /** Episodes of each lesson since it came in. */
  readonly #completions: Float64Array;
  /** How often a lesson left. */
  evicted = 0;

  constructor(lessons: number, size: number) {
    const all = Array.from({ length: lessons }, (_, i) => i);
    this.#active = all.slice(0, size);
    this.#waiting = all.slice(size);
    this.#completions = new Float64Array(lessons);
  }

  get active(): readonly number[] {
    return this.#active;
  }

  completed(lesson: number, episodes: number): void {
    this.#completions[lesson] = (this.#completions[lesson] as number) + episodes;
  }

  /**
   * Lets those go that are in the bottom share by progress and have had enough episodes, as long as others wait. Of
   * equal progress, those with more episodes go first.
   */
  evict(progress: (lesson: number) => number, enough: number, bottom: number): void {
    if (this.#waiting.length === 0) return;
    const had = (lesson: number): number => this.#completions[lesson] as number;
    const leaving = [...this.#active]
      .sort((a, b) => progress(a) - progress(b) || had(b) - had(a) || a - b)
      .slice(0, Math.floor(bottom * this.#active.length))
      .filter((lesson) => had(lesson) >= enough)
      .slice(0, this.#waiting.length);
    const coming = this.#waiting.splice(0, leaving.length);
    this.#active = [...this.#active.filter((lesson) => !leaving.includes(lesson)), ...coming];
    this.#waiting.push(...leaving);
    for (const lesson of coming) this.#completions[lesson] = 0;
    this.evicted += leaving.length;
  }

  getState(): StateTree {
    return {
      active: Int32Array.from(this.#active),
      waiting: Int32Array.from(this.#waiting),
      completions: this.#completions.slice(),
      evicted: this.evicted,
    };
  }

  setState(state: StateTree): void {
    const saved = state as {
      readonly active: Int32Array;
      readonly waiting: Int32Array;
      readonly completions: Float64Array;
      readonly evicted: number;
    };
    this.#active = [...saved.active];
    this.#waiting = [...saved.waiting];
    this.#completions.set(saved.completions);
    this.evicted = saved.evicted;
  }
}
