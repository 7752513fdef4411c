import { badOption, checkNames, checkSize, didYouMean, EspalierError, shown } from "../../core/index.ts";
import type { StateTree } from "../../state/index.ts";
import {
  between,
  type Curriculum,
  type CurriculumEvent,
  checkedLessons,
  checkedResults,
  checkSameLessons,
  type LessonResult,
  moved,
} from "./curriculum.ts";

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

/** What a lesson comes after, by name. */
export interface Ordered {
  readonly name: string;
  readonly after?: readonly string[] | undefined;
}

/** For every lesson the indices of those it comes after. Names that are not there and cycles are errors. */
export function dependenciesOf(lessons: readonly Ordered[]): readonly (readonly number[])[] {
  const names = lessons.map(({ name }) => name);
  const dependencies = lessons.map(({ name, after = [] }) =>
    [...new Set(after)].map((before) => {
      const index = names.indexOf(before);
      if (index >= 0) return index;
      throw new EspalierError(
        "LESSON_UNKNOWN",
        `lesson "${name}" comes after "${before}", which is not among the lessons${didYouMean(before, names)}`,
        { fix: `the lessons are ${names.join(", ")}` },
      );
    }),
  );
  const cycle = cycleIn(dependencies);
  if (cycle)
    throw new EspalierError(
      "LESSON_CYCLE",
      `these lessons wait for each other: ${cycle.map((i) => `"${names[i]}"`).join(" after ")}`,
      {
        fix: "take one of them out of the `after` of the other: as it is, none of them would ever be unlocked",
      },
    );
  return dependencies;
}

/** The first cycle, with its beginning repeated at the end. */
function cycleIn(dependencies: readonly (readonly number[])[]): readonly number[] | undefined {
  const done = new Set<number>();
  const path: number[] = [];
  const visit = (lesson: number): readonly number[] | undefined => {
    if (done.has(lesson)) return undefined;
    const at = path.indexOf(lesson);
    if (at >= 0) return [...path.slice(at), lesson];
    path.push(lesson);
    for (const before of dependencies[lesson] ?? []) {
      const found = visit(before);
      if (found) return found;
    }
    path.pop();
    done.add(lesson);
    return undefined;
  };
  for (const lesson of dependencies.keys()) {
    const found = visit(lesson);
    if (found) return found;
  }
  return undefined;
}

/** What is known of lessons from one kind of episodes. */
export class LessonRecord {
  readonly scores: Float64Array;
  readonly episodes: Float64Array;
  readonly returns: readonly Returns[];
  readonly #rate: number;

  constructor({ lessons, prior, window, plateau, rate }: LessonPlan) {
    this.scores = new Float64Array(lessons.length).fill(prior);
    this.episodes = new Float64Array(lessons.length);
    this.returns = lessons.map(() => new Returns(window, plateau.results));
    this.#rate = rate;
  }

  add({ lesson, episodes, positive, return: mean }: LessonResult): void {
    this.scores[lesson] = moved(this.scores[lesson] as number, positive, this.#rate, episodes);
    this.episodes[lesson] = (this.episodes[lesson] as number) + episodes;
    this.returns[lesson]?.add(episodes, mean);
  }

  getState(): StateTree {
    const returns = this.returns.map((each) => each.getState());
    return { scores: this.scores.slice(), episodes: this.episodes.slice(), returns };
  }

  setState(state: StateTree): void {
    const saved = state as { scores: Float64Array; episodes: Float64Array; returns: readonly StateTree[] };
    this.scores.set(saved.scores);
    this.episodes.set(saved.episodes);
    this.returns.forEach((each, i) => each.setState(saved.returns[i] as StateTree));
  }
}

/** What of a lesson decides how often it comes. */
export interface LessonStanding {
  readonly score: number;
  readonly episodes: number;
}

/**
 * Shares of lessons: w = max(0, 4s - 4s^2) (1 + e^(-fading n)) made to sum to 1, none below the floor, made to sum to 1
 * again. What is half known comes most often, and what is new more often than what is not.
 */
export function lessonShares(
  lessons: readonly LessonStanding[],
  fading: number,
  floor: number,
): readonly number[] {
  const weights = lessons.map(
    ({ score, episodes }) => Math.max(0, 4 * score - 4 * score * score) * (1 + Math.exp(-fading * episodes)),
  );
  const sum = total(weights);
  const raised = weights.map((weight) => Math.max(sum > 0 ? weight / sum : 0, floor));
  const all = total(raised);
  // Without a floor, lessons that are all known or all unknown come equally often.
  return raised.map((share) => (all > 0 ? share / all : 1 / lessons.length));
}

const total = (numbers: readonly number[]): number => numbers.reduce((sum, number) => sum + number, 0);

/** When returns have stopped moving. */
export interface PlateauOptions {
  /** Judged by the newest results that together have at least so many episodes. Default 50. */
  readonly over?: number;
  /** And by at least so many results, however many episodes each of them has. Default 5. */
  readonly results?: number;
  /** The slope per episode, as a share of the mean size of a return, must be below this. Default 0.01. */
  readonly slope?: number;
  /** The standard deviation, as a share of the mean, must be below this. Default 0.1. */
  readonly variation?: number;
}

export type Plateau = Required<PlateauOptions>;

/** A lesson's newest results, oldest first: of so many episodes at least, if there have been so many. */
export class Returns {
  #episodes: number[] = [];
  #means: number[] = [];
  #total = 0;
  readonly #window: number;
  readonly #results: number;

  constructor(window: number, results: number) {
    this.#window = window;
    this.#results = results;
  }

  add(episodes: number, mean: number): void {
    this.#episodes.push(episodes);
    this.#means.push(mean);
    this.#total += episodes;
    while (
      this.#episodes.length > this.#results &&
      this.#total - (this.#episodes[0] as number) >= this.#window
    ) {
      this.#total -= this.#episodes.shift() as number;
      this.#means.shift();
    }
  }

  /** The mean return of all that is kept; undefined where nothing is. */
  get mean(): number | undefined {
    if (this.#total === 0) return undefined;
    return this.#means.reduce((sum, mean, i) => sum + mean * (this.#episodes[i] as number), 0) / this.#total;
  }

  /**
   * Whether |slope| / mean |r| and the coefficient of variation are below their bounds. Every episode counts with the
   * mean of its result; results of one episode each give the usual figures of a row of numbers.
   */
  isPlateau({ over, results, slope, variation }: Plateau): boolean {
    let from = this.#episodes.length;
    let n = 0;
    while (from > 0 && (n < over || this.#episodes.length - from < results))
      n += this.#episodes[--from] as number;
    if (n < over || this.#episodes.length - from < results) return false;
    const means = this.#means.slice(from);
    const sum = (of: (mean: number, episodes: number, i: number) => number): number =>
      means.reduce((all, mean, i) => all + of(mean, this.#episodes[from + i] as number, i), 0);
    const mean = sum((r, k) => r * k) / n;
    const size = sum((r, k) => Math.abs(r) * k) / n;
    // Nothing but zeros moves nowhere.
    if (size === 0) return true;
    const deviation = Math.sqrt(sum((r, k) => k * (r - mean) ** 2) / n);
    let begun = 0;
    const covariance = sum((r, k) => {
      const middle = begun + (k - 1) / 2;
      begun += k;
      return k * (r - mean) * (middle - (n - 1) / 2);
    });
    const steepness = (12 * covariance) / (n * (n * n - 1));
    return Math.abs(steepness) / size < slope && deviation / Math.abs(mean) < variation;
  }

  clear(): void {
    this.#episodes = [];
    this.#means = [];
    this.#total = 0;
  }

  getState(): StateTree {
    return { episodes: Float64Array.from(this.#episodes), means: Float64Array.from(this.#means) };
  }

  setState(state: StateTree): void {
    const { episodes, means } = state as { readonly episodes: Float64Array; readonly means: Float64Array };
    this.#episodes = [...episodes];
    this.#means = [...means];
    this.#total = this.#episodes.reduce((sum, n) => sum + n, 0);
  }
}
