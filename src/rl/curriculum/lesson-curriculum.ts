import {
  badOption,
  didYouMean,
  EspalierError,
  type Options,
  option,
  required,
  resolveOptions,
  type Settings,
} from "../../core/index.ts";
import type { StateTree } from "../../state/index.ts";
import {
  type Curriculum,
  type CurriculumEvent,
  checkedLessons,
  checkedResults,
  checkSameLessons,
  type LessonResult,
  moved,
} from "./curriculum.ts";

const kind = "lessonCurriculum";

const plateauTable = {
  /** Fewest episodes of the newest results that are judged together. Default: 50. */
  over: option.integer({ min: 2, default: 50, doc: "Fewest episodes that are judged together." }),
  /** Fewest results that are judged together. Default: 5. */
  results: option.integer({ min: 1, default: 5, doc: "Fewest results that are judged together." }),
  /** The slope per episode, as a share of the mean size of a return, must be below this. Default: 0.01. */
  slope: option.number({ min: 0, infinite: true, default: 0.01, doc: "Most slope per episode." }),
  /** The standard deviation, as a share of the mean, must be below this. Default: 0.1. */
  variation: option.number({ min: 0, infinite: true, default: 0.1, doc: "Most standard deviation." }),
};

/** When returns count as a plateau. */
export interface PlateauOptions extends Options<typeof plateauTable> {}

const optionTable = {
  // Checked by `checkedLessons` and by a table of their own.
  lessons: required(option.anything<readonly Lesson[]>("a list of lessons")),
  /** How far one episode moves a score. Default: 0.1. */
  rate: option.number({ min: 0, max: 1, default: 0.1, doc: "How far one episode moves a score." }),
  /** A score before the first episode. Default: 0.5. */
  prior: option.number({ min: 0, max: 1, default: 0.5, doc: "A score before the first episode." }),
  /** Episodes whose returns are kept. Default: 1000. */
  window: option.integer({ min: 1, doc: "Episodes whose returns are kept." }),
  /** Rate per episode at which the bonus of a new lesson fades. Default: 0.01. */
  fading: option.number({
    min: 0,
    max: 1,
    default: 0.01,
    doc: "Rate at which the bonus of a new lesson fades.",
  }),
  /** The least share before shares are normalised again. Default: 0.1. */
  floor: option.number({ min: 0, max: 1, default: 0.1, doc: "The least share." }),
  plateau: option.group<PlateauOptions>(plateauTable, {}),
  /** A graduated lesson whose evaluation score is by more than this below its `stop` is taken back. Default: 0.1. */
  margin: option.number({ min: 0, max: 1, default: 0.1, doc: "Drop below `stop` that takes a lesson back." }),
};

/** Options of {@link lessonCurriculum}. */
export interface LessonCurriculumOptions extends Options<typeof optionTable> {}

const lessonTable = {
  name: option.text({ required: true }),
  /** Lessons that must be good enough before this one begins. Default: none. */
  after: option.list<string>('a list of names: after: ["easy"]', {}),
  /** The training score from which lessons that come after it may begin. Default: 0.8. */
  threshold: option.number({ min: 0, max: 1, default: 0.8 }),
  /** The evaluation score from which it graduates. Default: never. */
  stop: option.number({ min: 0, max: 1 }),
};

/** A lesson of a `lessonCurriculum`. */
export interface Lesson extends Options<typeof lessonTable> {}

type LessonSettings = ReturnType<typeof settingsOf>;

/** Options with their defaults, lessons by index. */
function settingsOf(options: LessonCurriculumOptions) {
  const settings = resolveOptions(kind, options, optionTable);
  const given = Array.isArray(options.lessons) ? options.lessons : [];
  const lessons = checkedLessons(
    kind,
    given.map((lesson) => lesson?.name),
  );
  const each = given.map((lesson) => resolveOptions(`lesson "${lesson.name}"`, lesson, lessonTable));
  const plateau = resolveOptions(kind, settings.plateau ?? {}, plateauTable);
  const { over } = plateau;
  const window = settings.window ?? Math.max(1000, over);
  if (over > window)
    throw badOption(kind, `plateau.over is ${over}`, `give from 2 to window, which is ${window}`);
  return {
    ...settings,
    lessons,
    dependencies: dependenciesOf(given),
    thresholds: each.map(({ threshold }) => threshold),
    /** Infinite if a lesson never graduates. */
    stops: each.map(({ stop }) => stop ?? Number.POSITIVE_INFINITY),
    window,
    plateau,
  };
}

const [LOCKED, ACTIVE, GRADUATED] = [0, 1, 2];
/** Most events that are kept until they are taken, and most lessons that have metrics of their own. */
const [MOST_EVENTS, MOST_METRICS] = [64, 64];

class LessonCurriculum implements Curriculum {
  readonly lessons: readonly string[];
  readonly #settings: LessonSettings;
  readonly #training: LessonRecord;
  readonly #evaluation: LessonRecord;
  readonly #status: Uint8Array;
  #takenBack = 0;
  #events: CurriculumEvent[] = [];
  #shares: Float32Array | undefined;

  constructor(settings: LessonSettings) {
    this.lessons = settings.lessons;
    this.#settings = settings;
    this.#training = new LessonRecord(settings);
    this.#evaluation = new LessonRecord(settings);
    this.#status = Uint8Array.from(settings.dependencies, (before) =>
      before.length === 0 ? ACTIVE : LOCKED,
    );
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
    checkSameLessons(kind, saved.lessons, this.lessons);
    this.#training.setState(saved.training as StateTree);
    this.#evaluation.setState(saved.evaluation as StateTree);
    this.#status.set(saved.status as Uint8Array);
    this.#takenBack = saved.takenBack as number;
    this.#events = (saved.events as readonly CurriculumEvent[]).map((event) => ({ ...event }));
    this.#shares = undefined;
  }

  #computeShares(): Float32Array {
    const { fading, floor } = this.#settings;
    const all = [...this.lessons.keys()];
    const active = all.filter((i) => this.#status[i] === ACTIVE);
    // When all unlocked lessons have graduated, they are drawn again. The first lesson is never locked.
    const drawn = active.length > 0 ? active : all.filter((i) => this.#status[i] === GRADUATED);
    const { scores, episodes } = this.#training;
    const standings = drawn.map((i) => ({ score: scores[i] as number, episodes: episodes[i] as number }));
    const shares = new Float32Array(this.lessons.length);
    lessonShares(standings, fading, floor).forEach((share, k) => {
      shares[drawn[k] as number] = share;
    });
    return shares;
  }

  /** Unlocks lessons all of whose dependencies are good enough and on a plateau, or have graduated. */
  #unlock(): void {
    const { dependencies, thresholds, plateau } = this.#settings;
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

  /** Graduates a lesson, or takes it back, by its evaluations. */
  #judge(i: number): void {
    const { stops, margin, plateau } = this.#settings;
    const score = this.#evaluation.scores[i] as number;
    const stop = stops[i] as number;
    const returns = this.#evaluation.returns[i];
    if (this.#status[i] === ACTIVE && score >= stop && returns?.isPlateau(plateau))
      this.#turn(i, GRADUATED, "graduated");
    else if (this.#status[i] === GRADUATED && score < stop - margin) {
      this.#turn(i, ACTIVE, "taken back");
      this.#takenBack++;
      // Its training score is outdated: the evaluation's takes its place.
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
 * above 0; it is drawn by max(0, 4s - 4s^2) (1 + e^(-0.01 n)), so that half-learned lessons come most often.
 *
 * - It begins when every lesson it comes after has a training score of at least that lesson's `threshold` and its
 *   returns are on a plateau. It stays unlocked.
 * - It graduates, and is not drawn any more, when its evaluation score is at least its `stop` and its returns in
 *   evaluations are on a plateau.
 * - It is taken back when an evaluation finds its score more than `margin` below its `stop`: it is drawn again, with
 *   that score, and may graduate again.
 *
 * Results are means over episodes. A result of n episodes counts as n episodes of that mean each: a score moves by the
 * share 1 - (1 - rate)^n.
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
  new LessonCurriculum(settingsOf(options));

/** For every lesson the indices of those it comes after. Refuses unknown names and cycles. */
function dependenciesOf(lessons: readonly Lesson[]): readonly (readonly number[])[] {
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

/** A cycle, with its beginning repeated at the end. */
function cycleIn(dependencies: readonly (readonly number[])[]): readonly number[] | undefined {
  const waiting = new Set(dependencies.keys());
  const waitsFor = (lesson: number) => dependencies[lesson]?.find((before) => waiting.has(before));
  for (let size = -1; size !== waiting.size; ) {
    size = waiting.size;
    for (const lesson of waiting) if (waitsFor(lesson) === undefined) waiting.delete(lesson);
  }
  const path: number[] = [];
  for (let [lesson] = waiting; lesson !== undefined; lesson = waitsFor(lesson)) {
    if (path.includes(lesson)) return [...path.slice(path.indexOf(lesson)), lesson];
    path.push(lesson);
  }
  return undefined;
}

/** Scores and returns of the lessons, from training or from evaluations. */
class LessonRecord {
  readonly scores: Float64Array;
  readonly episodes: Float64Array;
  readonly returns: readonly Returns[];
  readonly #rate: number;

  constructor({ lessons, prior, window, plateau, rate }: LessonSettings) {
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

/**
 * Shares of lessons: w = max(0, 4s - 4s^2) (1 + e^(-fading n)), normalised, raised to the floor, and normalised again.
 * Half-learned lessons come most often, and new ones more often than old ones.
 */
export function lessonShares(
  lessons: readonly { readonly score: number; readonly episodes: number }[],
  fading: number,
  floor: number,
): readonly number[] {
  const weights = lessons.map(
    ({ score, episodes }) => Math.max(0, 4 * score - 4 * score * score) * (1 + Math.exp(-fading * episodes)),
  );
  const sum = total(weights);
  const raised = weights.map((weight) => Math.max(sum > 0 ? weight / sum : 0, floor));
  const all = total(raised);
  // Without a floor, lessons that are all learned or all unlearned have equal shares.
  return raised.map((share) => (all > 0 ? share / all : 1 / lessons.length));
}

const total = (numbers: readonly number[]): number => numbers.reduce((sum, number) => sum + number, 0);

type Plateau = Settings<typeof plateauTable>;

/** A lesson's newest results, oldest first: of at least `window` episodes and `results` results, if there are as many. */
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

  /** The mean return of the kept results; undefined if there are none. */
  get mean(): number | undefined {
    if (this.#total === 0) return undefined;
    return this.#means.reduce((sum, mean, i) => sum + mean * (this.#episodes[i] as number), 0) / this.#total;
  }

  /**
   * True if |slope| / mean |r| and the coefficient of variation are below their bounds. Every episode counts with the
   * mean of its result.
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
    // Zeros are a plateau.
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
