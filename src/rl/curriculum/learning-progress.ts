import {
  EspalierError,
  emitWarning,
  type Options,
  option,
  required,
  resolveOptions,
  type Settings,
  shown,
} from "../../core/index.ts";
import type { StateTree } from "../../state/index.ts";
import {
  type Curriculum,
  checkedLessons,
  checkedResults,
  checkSameLessons,
  type LessonResult,
  moved,
} from "./curriculum.ts";

const optionTable = {
  // Checked by `checkedLessons`.
  /** Their names. */
  lessons: required(option.anything<readonly string[]>("a list of names")),
  /** The score of episodes, from 0 to 1; values outside are clipped. Default: their mean return. */
  score: option.function<(result: LessonResult) => number>("a function of a result: (result) => number", {
    doc: "The score of episodes, from 0 to 1. Default: their mean return.",
  }),
  /** How far one episode moves the fast average. Default: 0.001. */
  fast: option.number({ min: 0, max: 1, default: 0.001, doc: "How far one episode moves the fast average." }),
  /** How far one episode moves the slow average. Default: 0.0002. */
  slow: option.number({
    min: 0,
    max: 1,
    default: 0.0002,
    doc: "How far one episode moves the slow average.",
  }),
  /** The score of random play. Default: 0.5. */
  baseline: option.number({ min: 0, max: 0.99, default: 0.5, doc: "The score of random play." }),
  /** How much small averages are spread: th in x (1 - th) / (x + th (1 - 2x)). Default: 0.05. */
  smoothing: option.number({
    min: 1e-6,
    max: 0.5,
    default: 0.05,
    doc: "How much small averages are spread.",
  }),
  /** Weight of being good beside becoming better. Default: 0.1. */
  bonus: option.number({ min: 0, max: 1, default: 0.1, doc: "Weight of being good beside becoming better." }),
  /** The progress of a lesson that makes none. Default: 0.1. */
  least: option.number({ min: 0, max: 1, default: 0.1, doc: "The progress of a lesson that makes none." }),
  /** Lessons that are drawn at a time. Default: 64. */
  pool: option.integer({ min: 1, default: 64, doc: "Lessons that are drawn at a time." }),
  /** Episodes after which a lesson may leave the pool for one that waits. Default: 5. */
  evictAfter: option.integer({
    min: 1,
    default: 5,
    doc: "Episodes after which a lesson may leave the pool.",
  }),
  /** It leaves if it is in this bottom share of the pool. Default: 0.4. */
  evictBelow: option.number({
    min: 0,
    max: 1,
    default: 0.4,
    doc: "Bottom share of the pool that may leave.",
  }),
};

/** Options of {@link learningProgressCurriculum}. */
export interface LearningProgressOptions extends Options<typeof optionTable> {}

const kind = "learningProgressCurriculum";

/** Lessons up to which each has metrics of its own. */
const MOST_METRICS = 64;

class LearningProgress implements Curriculum {
  readonly lessons: readonly string[];
  readonly #settings: Settings<typeof optionTable>;
  readonly #score: (result: LessonResult) => number;
  readonly #fast: Float64Array;
  readonly #slow: Float64Array;
  readonly #episodes: Float64Array;
  readonly #pool: Pool;
  #shares: Float32Array | undefined;
  #warned = false;

  constructor(options: LearningProgressOptions) {
    this.#settings = resolveOptions(kind, options, optionTable);
    this.lessons = checkedLessons(kind, options.lessons);
    this.#score = options.score ?? (({ return: mean }) => mean);
    this.#fast = new Float64Array(this.lessons.length);
    this.#slow = new Float64Array(this.lessons.length);
    this.#episodes = new Float64Array(this.lessons.length);
    this.#pool = new Pool(this.lessons.length, this.#settings.pool);
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
    const { evictAfter, evictBelow } = this.#settings;
    this.#pool.evict((lesson) => this.#progress(lesson), evictAfter, evictBelow);
    this.#shares = undefined;
  }

  /** Evaluations are checked and not used: they are few, and come in lumps. */
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
    const { baseline } = this.#settings;
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
    checkSameLessons(kind, saved.lessons, this.lessons);
    this.#fast.set(saved.fast as Float64Array);
    this.#slow.set(saved.slow as Float64Array);
    this.#episodes.set(saved.episodes as Float64Array);
    this.#pool.setState(saved.pool as StateTree);
    this.#shares = undefined;
  }

  #progress(i: number): number {
    return rawProgress(this.#fast[i] as number, this.#slow[i] as number, this.#settings);
  }

  #take(result: LessonResult): void {
    const { lesson, episodes } = result;
    const score = this.#score(result);
    if (Number.isNaN(score) || typeof score !== "number")
      throw new EspalierError(
        "CURRICULUM_RESULT",
        `score gave ${shown(score)} for lesson "${this.lessons[lesson]}"`,
        { fix: "let `score` return a number from 0 to 1 for every result" },
      );
    if (score > 1 && !this.#warned) {
      this.#warned = true;
      emitWarning(
        `${kind}: the score of lesson "${this.lessons[lesson]}" is ${shown(score)}, which counts as 1; give a score from 0 to 1, such as score: ({ return: mean }) => mean / greatest. This warning is given once`,
        "CURRICULUM_RESULT",
      );
    }
    const value = normalised(score, this.#settings.baseline);
    const first = this.#episodes[lesson] === 0;
    for (const [average, rate] of [
      [this.#fast, this.#settings.fast],
      [this.#slow, this.#settings.slow],
    ] as const)
      average[lesson] = first ? value : moved(average[lesson] as number, value, rate, episodes);
    this.#episodes[lesson] = (this.#episodes[lesson] as number) + episodes;
    this.#pool.completed(lesson, episodes);
  }
}

/**
 * Draws lessons that are being learned most often: those whose scores move, upwards or downwards. Every lesson has a
 * fast and a slow average of its scores; their difference is its progress. Lessons without progress are still drawn now
 * and then.
 *
 * The first result sets both averages. A result of n episodes with mean m counts as n episodes of m each: an average
 * goes the share 1 - (1 - rate)^n of the way. With more lessons than the pool holds, those of the pool that make least
 * progress leave it for those that wait, and wait themselves; their averages are kept.
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
  new LearningProgress(options);

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
export function rawProgress(
  fast: number,
  slow: number,
  { smoothing, bonus, least }: Pick<Settings<typeof optionTable>, "smoothing" | "bonus" | "least">,
): number {
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
 * The lessons that are drawn, if there are too many to draw from all of them. The others wait in a queue.
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
   * Replaces lessons in the bottom share by progress that have had enough episodes, as long as others wait. Of equal
   * progress, those with more episodes leave first.
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
