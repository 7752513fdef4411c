/**
 * Rollout workers. A step of one, and the events at which hooks run:
 *
 *     run()                                                                       onWorkerStart   a state may be restored
 *     step()  weights    source.receive(): waits for the first, then the newest   onWeights       where there are new ones
 *             key        of seed, name and step: random numbers follow from it
 *             lesson     drawn by curriculum.shares(); another where it fails     onLessonStart
 *             rollout    generator.rollout(lesson, key)
 *             send       sink.send(rollout): from here on it is the trainer's
 *             count      counters, curriculum.trained(scores), the log            onRolloutEnd
 *             hooks      evaluation, logging, your own                            onStep          `run` of hooks is called
 *     end     stop, signal, closed transport, or a failure (onError)              onWorkerEnd
 *
 *     rollout.ts     the contracts                            hooks.ts                    evaluation, document 002's hooks
 *     text.ts, environments.ts   generators                   transport.ts, processes.ts  to the trainer and back
 *     task.ts, replay.ts         training from rollouts
 */
import {
  badOption,
  type Clock,
  countInWords,
  EspalierError,
  isPlainObject,
  isWorthSaying,
  messageOf,
  nameWords,
  type Options,
  onAbort,
  option,
  printableText,
  required,
  resolveOptions,
  systemClock,
  toStandardError,
} from "../core/index.ts";
import { hostRandom } from "../engine/index.ts";
import {
  type Hook,
  type HookContext,
  HookManager,
  type HookResults,
  type HostContext,
  HostOfHooks,
} from "../hooks/index.ts";
import { abortSignal } from "../language/index.ts";
import { Logger } from "../metrics/index.ts";
import { type Curriculum, curriculumRow, sharesOf } from "../rl/index.ts";
import { advanceCounters, type Counters, noCounters, timeless } from "../schedule/index.ts";
import type { Stateful, StateTree } from "../state/index.ts";
import { Ending, type Outcome } from "../trainer/index.ts";
import { defaultHooks } from "./hooks.ts";
import {
  checkLesson,
  type EvaluatedScores,
  generatorRow,
  type LessonScores,
  type Rollout,
  type RolloutGenerator,
  type RolloutSink,
  resultOf,
  unitsOf,
  type WeightSource,
  type WorkerLink,
} from "./rollout.ts";

/** Facts about the step under way, new with each step. Hooks and generators may add their own. */
export interface WorkerMetadata {
  /** Mean return of the step's rollout. Undefined before it is made, and where no episode ended in it. */
  reward?: number;
  /** Mean return of the lesson at its newest evaluation. Undefined before the first. */
  performance?: number | undefined;
  /** The weights that the step uses. */
  weightId?: number;
  /** Metrics of the rollout, and what hooks add. */
  [name: string]: unknown;
}

/**
 * The context that handlers of a worker's events get. Its counters: `steps` of the worker, `updates` of the trainer (the
 * id of the weights), `batches` are rollouts, `samples` episodes.
 */
export interface WorkerContext extends HookContext {
  readonly worker: RolloutWorker;
  /** Steps of the worker that are done: `counters.steps`. */
  readonly step: number;
  /** A random key (u32[2]) of this step for hooks. */
  readonly rng: Uint32Array;
  /** The lesson of the step under way. */
  readonly lessonId: string | undefined;
  readonly metadata: WorkerMetadata;
  /** From `onRolloutEnd` on: the rollout of the step. */
  readonly rollout: Rollout | undefined;
  /** Everything that belongs to the worker's state, by name. */
  readonly components: Readonly<Record<string, Stateful>>;
  /** In `onError` and after it: the failure. */
  readonly error: unknown;
  /** In `onWorkerEnd`: how it ended, and why. */
  readonly outcome: Outcome | undefined;
  readonly reason: string | undefined;
}

const workerEvents = [
  "onWorkerStart",
  "onWeights",
  "onLessonStart",
  "onRolloutEnd",
  "onStep",
  "onError",
  "onWorkerEnd",
] as const;
type WorkerEvent = (typeof workerEvents)[number];

/** The events of a rollout worker, in the order in which they happen. */
export type WorkerEvents = { readonly [E in WorkerEvent]: WorkerContext };

/** A hook of a rollout worker. */
export type WorkerHook = Hook<WorkerEvents>;

export const optionTable = {
  /** Makes rollouts and plays evaluations. The worker closes it at its end. */
  generator: required(generatorRow),
  /** Its end of a transport; or `weights` and `rollouts`. */
  link: option.object<WorkerLink>("a link: transport.worker(name)", ["receive", "send"], {}),
  weights: option.object<WeightSource>("a source of weights, with receive", ["receive"], {}),
  rollouts: option.object<RolloutSink>("a sink of rollouts, with send", ["send"], {}),
  /** Unique among the workers of a run: ids of rollouts and random numbers follow from it. Default: "worker-0". */
  name: option.text({ default: "worker-0" }),
  /** Chooses lessons. Default: all lessons of the generator alike. */
  curriculum: curriculumRow,
  hooks: option.list<WorkerHook>("a list of hooks", {}),
  /** Takes what the worker and its hooks log, and is closed with the worker: one for each. Default: writes nowhere. */
  tracker: option.object<Logger>("a Logger", ["log", "as"], {}),
  /** Default: 0. */
  seed: option.integer({ min: 0, default: 0 }),
  /** Registers the hooks "micro-evaluation" and "evaluation". Default: true. */
  defaultHooks: option.flag({ default: true }),
  /** Worker steps between micro evaluations: the current lesson, not for the curriculum. Default: 10. */
  microEvalFrequency: option.integer({ min: 1, default: 10 }),
  /** Episodes of a micro evaluation. Default: 4. */
  microEvalExamples: option.integer({ min: 1, default: 4 }),
  /** Steps between full evaluations: all lessons, for the curriculum. Default: 100. */
  evalFrequency: option.integer({ min: 1, default: 100 }),
  /** Episodes a lesson of a full evaluation. Default: 64. */
  evalExamples: option.integer({ min: 1, default: 64 }),
  /** Steps that `evalFrequency` counts: updates of the trainer, or steps of the worker. Default: "trainer". */
  evalUnit: option.oneOf(["trainer", "worker"], { default: "trainer" }),
  clock: option.object<Clock>("a clock", ["now"], {}),
  /** Takes messages that do not stop the worker. Default: standard error. */
  warn: option.function<(text: string) => void>("a function of a text", {}),
  /** Prints every decision about hooks. `ESPALIER_DEBUG=hooks` does the same. Default: false. */
  trace: option.flag({ default: false }),
};

/** Options of {@link RolloutWorker}. */
export interface RolloutWorkerOptions extends Options<typeof optionTable> {}

const runTable = {
  /** Default: no limit. */
  steps: option.integer({ min: 0 }),
  signal: abortSignal,
};
const evaluateTable = {
  /** Default: all. */
  lessons: option.list<string>("a list of lessons", {}),
  /** Episodes of each lesson. Default: 64. */
  examples: option.integer({ min: 1, default: 64 }),
  /** The episodes follow from it. Default: the same ones each time. */
  key: option.made<Uint32Array>("a random key", (value) => value instanceof Uint32Array, {}),
};

/** How a worker's run went. */
export interface WorkerResult {
  readonly outcome: Exclude<Outcome, "failed">;
  /** The reason for which it ended before its last step; undefined where it did not. */
  readonly reason: string | undefined;
  /** Steps of the worker, those before a restored state included. */
  readonly steps: number;
}

/**
 * Makes rollouts apart from the trainer: takes weights, draws lessons, sends what the generator makes, and runs hooks at
 * every step. Evaluation comes as hooks: a micro evaluation of the current lesson every 10 steps, and a full one of all
 * lessons, which moves the curriculum, every 100 steps of the trainer.
 *
 * Nothing is rolled out before the first weights. A receive that fails, and weights of another shape, leave the old
 * ones in place: they are counted and warned of. What its `components` restore goes on with the same numbers.
 *
 * @example
 * ```ts
 * const transport = inProcessTransport();
 * const worker = new RolloutWorker({ generator, link: transport.worker("worker-0") });
 * worker.registerHook(evaluationHook({ frequency: 50, nExamples: 32, evalType: "custom_eval" }));
 * worker.registerHook(new LoggingHook({ frequency: 100 }));
 * await worker.run({ steps: 1000 });
 * ```
 */
export class RolloutWorker extends HostOfHooks<WorkerEvents> {
  readonly name: string;
  readonly curriculum: Curriculum;
  /** The worker's logger: hooks' `log` goes there too. */
  readonly tracker: Logger;
  readonly hooks: HookManager<WorkerEvents>;
  /** Sets of weights in this process: how many it took, could not receive, and refused. */
  readonly stats = { weightsTaken: 0, receivesFailed: 0, weightsRefused: 0 };
  readonly #generator: RolloutGenerator;
  readonly #source: WeightSource;
  readonly #sink: RolloutSink;
  readonly #warn: (text: string) => void;
  readonly #ending: Ending;
  readonly #progress: Progress;
  readonly #log: ReturnType<Logger["as"]>;
  readonly #context: MovingContext;
  #state: "idle" | "stepping" | "ended" = "idle";
  #begun = false;
  /** The id of the weights that the generator has; undefined before the first. */
  #weightId: number | undefined;
  #closed: Promise<void> | undefined;
  readonly #link: WorkerLink | undefined;

  constructor(options: RolloutWorkerOptions) {
    super();
    const settings = resolveOptions("RolloutWorker", options, optionTable);
    const { generator, link, clock = systemClock, warn = toStandardError } = settings;
    const { weights = link, rollouts = link } = settings;
    if (!weights || !rollouts)
      throw badOption(
        "RolloutWorker",
        "there is no transport",
        "give a link: transport.worker(name), or weights and rollouts",
      );
    this.name = settings.name;
    this.#generator = generator;
    this.#source = weights;
    this.#sink = rollouts;
    this.#link = link;
    this.curriculum = settings.curriculum ?? allAlike(generator.lessons);
    if (this.lessons.length === 0)
      throw badOption("RolloutWorker", "there are no lessons", "give a generator that has some");
    for (const lesson of this.lessons) checkLesson(lesson, generator.lessons);
    this.tracker = settings.tracker ?? new Logger({ sinks: [] });
    this.#log = this.tracker.as("worker");
    this.#warn = (text) => warn(printableText(`${this.name}: ${text}`));
    this.#ending = new Ending(this.#warn);
    this.#progress = new Progress(keyOf(settings.seed, this.name), clock);
    this.hooks = new HookManager<WorkerEvents>({
      events: workerEvents,
      clock,
      warn: this.#warn,
      trace: settings.trace,
      logger: {
        as: (owner) => ({
          log: (values, at, category = "worker") => this.tracker.as(owner).log(values, at, category),
        }),
      },
    });
    this.#context = this.#makeContext(clock);
    const own = settings.defaultHooks ? defaultHooks(settings) : [];
    try {
      for (const hook of [...own, ...(settings.hooks ?? [])]) this.registerHook(hook);
    } catch (error) {
      this.hooks.clear(); // Those before it have been set up.
      throw error;
    }
  }

  get lessons(): readonly string[] {
    return this.curriculum.lessons;
  }
  get counters(): Counters {
    return this.#progress.counters;
  }
  /** Everything that decides how it goes on, by name. Restore it before the first step, or in `onWorkerStart`. */
  get components(): Readonly<Record<string, Stateful>> {
    const { state } = this.#generator;
    return {
      worker: this.#progress,
      time: this.#progress.time,
      curriculum: this.curriculum,
      tracker: this.tracker,
      ...(state && { generator: state }),
      ...this.hooks.components,
    };
  }

  async runHooks(event: WorkerEvent): Promise<HookResults | undefined> {
    const { since } = this.#context;
    try {
      return await this.#emit(event);
    } finally {
      this.#context.since = since;
    }
  }

  /** @internal Takes the seed of the run that it belongs to, before its first step. */
  reseed(seed: number): void {
    this.#progress.root = keyOf(seed, this.name);
  }

  /** Ends it after the step under way, with the end event. The first reason counts. */
  stop(reason: string): void {
    this.#ending.stop(reason);
  }

  /**
   * Makes steps until there were `steps` of them, until it is stopped, interrupted by the signal, or its transport is
   * closed; then ends the worker. Rejects with a failure, after `onError` and `onWorkerEnd`.
   */
  async run(options: Options<typeof runTable> = {}): Promise<WorkerResult> {
    const { steps = Infinity, signal } = resolveOptions("RolloutWorker.run", options, runTable);
    const release = this.#follow(signal);
    try {
      // It may have been closed in the middle of the step.
      for (let made = 0; made < steps; made++) if ((await this.step()) === undefined || this.#closed) break;
      await this.close();
    } finally {
      release();
    }
    const { outcome, reason, error } = this.#ending;
    if (outcome === "failed") throw error;
    return { outcome: outcome ?? "completed", reason, steps: this.counters.steps };
  }

  /**
   * Makes one step, for a trainer that drives the worker; `close` ends it then. Undefined where the worker is to end: it
   * was stopped, interrupted by the signal, or its transport is closed. A failure ends the worker as in `run`.
   */
  async step(options: { readonly signal?: AbortSignal } = {}): Promise<Rollout | undefined> {
    if (this.#state === "stepping")
      throw new EspalierError("WORKER_BUSY", `the worker "${this.name}" is in the middle of a step`, {
        fix: "await the step before the next one",
      });
    if (this.#state === "ended")
      throw new EspalierError("WORKER_ENDED", `the worker "${this.name}" has ended`, {
        fix: "make a new RolloutWorker; to go on from here, restore this one's components into it",
      });
    this.#state = "stepping";
    const release = this.#follow(options.signal);
    try {
      if (!this.#begun) {
        this.hooks.check();
        this.#begun = true;
        this.#progress.startClock();
        await this.#emit("onWorkerStart");
      }
      return this.#ending.asked ? undefined : await this.#step();
    } catch (error) {
      const { signal, outcome } = this.#ending;
      if (this.#closed || (signal.aborted && outcome === "interrupted")) {
        if (!isAbort(error, signal.reason))
          this.#warn(
            `while it was being ${this.#closed ? "closed" : "interrupted"}, this failed: ${String(error)}`,
          );
        return undefined;
      }
      await this.#failed(error);
      await this.close(); // Further failures are warned of.
      throw error;
    } finally {
      release();
      if (this.#state === "stepping") this.#state = "idle";
    }
  }

  /** Ends the worker: `onWorkerEnd`, then hooks, generator, tracker and its link are closed. The transport stays open. */
  close(): Promise<void> {
    if (this.#state === "stepping") this.#ending.stop("the worker was closed");
    this.#closed ??= this.#close();
    return this.#closed;
  }

  /**
   * Plays episodes of lessons that training never sees with the weights of now. No hook hears of it, and the curriculum
   * does not move.
   */
  async evaluate(
    options: Options<typeof evaluateTable> = {},
  ): Promise<Readonly<Record<string, EvaluatedScores>>> {
    const settings = resolveOptions("RolloutWorker.evaluate", options, evaluateTable);
    const { lessons = this.lessons, examples } = settings;
    const key = settings.key ?? hostRandom.hostFoldIn(this.#progress.root, evaluationKey);
    if (this.#weightId === undefined)
      throw new EspalierError("WEIGHTS_MISSING", `the worker "${this.name}" has no weights yet`, {
        fix: "publish weights, and evaluate in a hook or after a step",
      });
    const scores: Record<string, EvaluatedScores> = {};
    for (const lesson of lessons) {
      checkLesson(lesson, this.#generator.lessons);
      const own = hostRandom.hostFoldIn(key, nameWords(lesson)[0]);
      const [{ signal }, warn] = [this.#ending, this.#warn];
      const found = await this.#generator.evaluate({ lesson, examples, key: own, signal, warn });
      checkScores(`the evaluation of lesson "${lesson}"`, found);
      scores[lesson] = found;
      if (found.episodes > 0) this.#progress.performance[lesson] = found.return;
    }
    return scores;
  }

  /** One step, from weights to hooks. Undefined where the transport is closed. */
  async #step(): Promise<Rollout | undefined> {
    const progress = this.#progress;
    if (!(await this.#takeWeights())) return undefined;
    const weightId = this.#weightId as number;
    const stepKey = hostRandom.hostFoldIn(progress.root, progress.counters.steps);
    const [drawKey, rolloutKey, hooksKey] = hostRandom.hostSplit(stepKey, 3);
    const failed = new Set<string>();
    let lesson = this.#drawLesson(drawKey, failed) as string;
    let made: Awaited<ReturnType<RolloutGenerator["rollout"]>>;
    let metadata: WorkerMetadata;
    const [{ signal }, warn] = [this.#ending, this.#warn];
    for (;;) {
      metadata = { weightId, performance: progress.performance[lesson] };
      Object.assign(this.#context, { rng: hooksKey, lessonId: lesson, metadata, rollout: undefined });
      await this.#emit("onLessonStart");
      try {
        made = await this.#generator.rollout({ lesson, key: rolloutKey, signal, warn });
        break;
      } catch (error) {
        const other = this.#drawLesson(drawKey, failed.add(lesson));
        if (other === undefined || !this.#generator.skips?.(error, warn)) throw error;
        lesson = other;
      }
    }
    checkScores(`a rollout of lesson "${lesson}"`, made);
    unitsOf(`a rollout of lesson "${lesson}"`, made.arrays);
    const { counters } = progress;
    const id = `${this.name}-${counters.batches}`;
    const skipped = failed.size > 0 && { metrics: { ...made.metrics, "lesson.failures": failed.size } };
    const rollout: Rollout = { ...made, ...skipped, id, worker: this.name, weightId, lesson };
    try {
      await this.#sink.send(rollout, { signal });
    } catch (error) {
      if (!(error instanceof EspalierError && error.code === "TRANSPORT_CLOSED")) throw error;
      this.#ending.stop("the transport was closed");
      return undefined;
    }

    progress.count(made.episodes);
    this.#learnFrom(rollout);
    this.#context.rollout = rollout;
    Object.assign(metadata, rollout.metrics, made.episodes > 0 && { reward: made.return });
    await this.#emit("onRolloutEnd");
    await this.#emit("onStep");
    return rollout;
  }

  /** Takes the newest weights where there are some; waits for the first. False where there will be none. */
  async #takeWeights(): Promise<boolean> {
    const first = this.#weightId === undefined;
    const { signal } = this.#ending;
    let id: number | undefined;
    try {
      const weights = await this.#source.receive({ wait: first, signal });
      if (!weights && first) this.#ending.stop("the transport was closed before there were weights");
      if (!weights) return !first;
      id = weights.id;
      await this.#generator.setParams(weights.arrays);
    } catch (cause) {
      const isRefused = cause instanceof EspalierError && cause.code === "WEIGHTS_INVALID";
      if (first || signal.aborted || (id !== undefined && !isRefused)) throw cause;
      const times = ++this.stats[id === undefined ? "receivesFailed" : "weightsRefused"];
      const what = id === undefined ? "weights could not be received" : `weights ${id} were refused`;
      const kept = `it goes on with weights ${this.#weightId}`;
      if (isWorthSaying(times))
        this.#warn(`${what}, and ${kept}: ${messageOf(cause)} (${countInWords(times)})`);
      return true;
    }
    const { steps, updates } = this.counters;
    // A restored worker gets the weights again that it had.
    const known = first && steps > 0 && id === updates;
    this.#weightId = id;
    this.stats.weightsTaken++;
    this.#progress.takeWeights(id);
    this.#context.metadata.weightId = id;
    if (!known) await this.#emit("onWeights");
    return true;
  }

  /** A lesson by its share among those that have not failed; undefined where all have. */
  #drawLesson(key: Uint32Array, failed: ReadonlySet<string>): string | undefined {
    const { lessons } = this.curriculum;
    const all = Array.from(sharesOf(this.curriculum));
    const shares = all.map((share, i) => (failed.has(lessons[i] as string) ? 0 : share));
    const draw = hostRandom.hostUniform(failed.size > 0 ? hostRandom.hostFoldIn(key, failed.size) : key, 1);
    let left = draw[0] as number;
    if (failed.size > 0) left *= shares.reduce((sum, share) => sum + share, 0);
    for (const [i, share] of shares.entries()) {
      left -= share;
      if (left < 0 && share > 0) return lessons[i] as string;
    }
    return lessons[shares.findLastIndex((share) => share > 0)] ?? (failed.size > 0 ? undefined : lessons[0]);
  }

  /** The curriculum and the log take a rollout's scores. */
  #learnFrom(rollout: Rollout): void {
    const { lesson, episodes, return: mean, positive, metrics } = rollout;
    const { receivesFailed, weightsRefused } = this.stats;
    const values = {
      ...metrics,
      episodes,
      ...(episodes > 0 && { "episode.return": mean, "episode.positive": positive }),
      ...(receivesFailed > 0 && { "weights.failed": receivesFailed }),
      ...(weightsRefused > 0 && { "weights.refused": weightsRefused }),
    };
    this.#log.log(values, this.counters, "rollout");
    if (episodes > 0) this.curriculum.trained([resultOf(this.lessons, lesson, rollout)]);
  }

  #emit(event: WorkerEvent): HookResults | undefined | Promise<HookResults | undefined> {
    this.#context.since = this.#progress.occurs(event);
    this.#context.counters = this.counters;
    return this.hooks.run(event, this.#context);
  }

  async #failed(error: unknown): Promise<void> {
    if (this.#ending.outcome === "failed") return this.#ending.attempt(() => Promise.reject(error));
    this.#ending.fail(error);
    if (this.#begun) await this.#ending.attempt(() => this.#emit("onError"));
  }

  async #close(): Promise<void> {
    const ending = this.#ending;
    this.#state = "ended";
    const hadFailed = ending.outcome === "failed";
    if (this.#begun) await this.hooks.settle().catch((error: unknown) => this.#failed(error));
    ending.decide();
    if (this.#begun) await ending.attempt(() => this.#emit("onWorkerEnd"));
    await ending.attempt(() => this.hooks.close());
    await ending.attempt(() => this.#generator.close?.());
    const { outcome = "completed" } = ending;
    await ending.attempt(() => this.tracker.close({ outcome, counters: this.counters }));
    await ending.attempt(() => this.#link?.close?.());
    if (ending.outcome === "failed" && !hadFailed) throw ending.error;
  }

  /** Interrupts the worker when the signal is aborted, until the function that is returned is called. */
  #follow(signal: AbortSignal | undefined): () => void {
    return onAbort(signal, (reason) => {
      this.#ending.interrupt(`interrupted: ${messageOf(reason)}`);
      this.#ending.abort(reason);
    });
  }

  /** The context of all events: one object, which moves on. Hooks see it through views, hence no private fields. */
  #makeContext(clock: Clock): MovingContext {
    const ending = this.#ending;
    const worker = this;
    const context: MovingContext = {
      worker,
      clock,
      rank: 0,
      signal: ending.signal,
      counters: this.#progress.counters,
      since: undefined,
      rng: hostRandom.hostFoldIn(this.#progress.root, 0),
      lessonId: undefined,
      metadata: {},
      rollout: undefined,
      get step() {
        return this.counters.steps;
      },
      get components() {
        return worker.components;
      },
      get error() {
        return ending.error;
      },
      get outcome() {
        return ending.decided ? ending.outcome : undefined;
      },
      get reason() {
        return ending.decided ? ending.reason : undefined;
      },
      stop: (reason) => ending.stop(reason),
      freeze: (reads) => {
        if (reads.length > 0)
          throw new EspalierError("HOOK_INVALID", `a worker freezes no components: ${reads.join(", ")}`, {
            fix: "read them before the work, with background: { reads: [] }",
          });
        return { ...context, metadata: { ...context.metadata } };
      },
    };
    return context;
  }
}

type MovingContext = HostContext<WorkerContext> & {
  -readonly [K in "counters" | "since" | "rng" | "lessonId" | "metadata" | "rollout"]: WorkerContext[K];
};

/** Counts that no step has: the key of evaluations that are asked for by hand. */
const evaluationKey = 0xffff_ffff;

function keyOf(seed: number, name: string): Uint32Array {
  const { hostFoldIn, hostKey } = hostRandom;
  const [first, second] = nameWords(`rollout.${name}`);
  return hostFoldIn(hostFoldIn(hostKey(seed), first), second);
}

/** How far the worker is: the component `worker`, but for seconds, which no two runs share: the component `time`. */
class Progress implements Stateful {
  counters: Counters = noCounters;
  /** Mean return of each lesson at its newest evaluation. */
  performance: Record<string, number> = {};
  root: Uint32Array;
  readonly #clock: Clock;
  #origin: number;
  /** Counters before the first step: a worker that comes late has not crossed the updates before it. */
  #start: Counters = noCounters;
  #since: Partial<Record<WorkerEvent, Counters>> = {};

  constructor(root: Uint32Array, clock: Clock) {
    this.root = root;
    this.#clock = clock;
    this.#origin = clock.now();
  }

  /** Time counts from here; restored seconds stay. */
  startClock(): void {
    this.#origin = this.#clock.now() - this.counters.seconds * 1000;
  }

  /** Trainers that go back to a checkpoint have lower ids: then every hook is asked anew. */
  takeWeights(id: number): void {
    if (this.counters.steps === 0) this.#start = { ...noCounters, updates: id };
    this.counters = { ...this.counters, updates: id };
  }

  count(episodes: number): void {
    const adds = { steps: 1, batches: 1, samples: episodes };
    this.counters = advanceCounters(this.counters, adds, 1, this.#seconds());
  }

  /** Notes that an event happens now. Gives the counters at the time before. */
  occurs(event: WorkerEvent): Counters | undefined {
    const lone = event.endsWith("Start") || event === "onWeights";
    const before = this.#since[event] ?? (lone ? undefined : this.#start);
    this.#since[event] = this.counters;
    return before;
  }

  #seconds(): number {
    return (this.#clock.now() - this.#origin) / 1000;
  }

  getState() {
    const lasting = Object.entries(this.#since).filter(([event]) => !perProcess.includes(event));
    return {
      counters: timeless(this.counters),
      since: Object.fromEntries(lasting.map(([event, at]) => [event, timeless(at)])),
      performance: { ...this.performance },
      key: this.root.slice(),
    };
  }

  setState(state: StateTree): void {
    const { counters, since, performance, key } = (state ?? {}) as Partial<ReturnType<Progress["getState"]>>;
    if (typeof counters?.steps !== "number" || !since || !performance || key?.length !== 2)
      throw notAState("worker");
    this.#restore(this.counters.seconds, counters, since);
    this.performance = { ...performance };
    this.root = Uint32Array.from(key);
  }

  readonly time: Stateful = {
    getState: () => ({ seconds: this.#seconds() }),
    setState: (state) => {
      const seconds = isPlainObject(state) ? state.seconds : undefined;
      if (typeof seconds !== "number") throw notAState("time");
      this.#restore(seconds, this.counters, this.#since);
    },
  };

  #restore(seconds: number, counters: object, since: Readonly<Record<string, object>>): void {
    const timed = (at: object): Counters => ({ ...noCounters, ...at, seconds });
    this.counters = timed(counters);
    this.#since = Object.fromEntries(Object.entries(since).map(([event, at]) => [event, timed(at)]));
    this.startClock();
  }
}

/** Events that every process has by itself. */
const perProcess: readonly string[] = ["onWorkerStart", "onError", "onWorkerEnd"];

const notAState = (component: string): EspalierError =>
  new EspalierError("STATE_INVALID", `this is not a state of the component "${component}"`, {
    fix: "restore what getState of the same component of a rollout worker gave",
  });

function allAlike(lessons: readonly string[]): Curriculum {
  const shares = new Float32Array(lessons.length).fill(1 / lessons.length);
  return {
    lessons,
    shares: () => shares,
    trained: () => {},
    evaluated: () => {},
    metrics: () => ({}),
    getState: () => ({}),
    setState: () => {},
  };
}

/** Refuses scores that would stay in a curriculum's averages. */
export function checkScores(what: string, scores: LessonScores): void {
  const { episodes = Number.NaN, return: mean, positive } = (scores ?? {}) as Partial<LessonScores>;
  const isShare = Number(positive) >= 0 && Number(positive) <= 1;
  if (episodes === 0 || (Number.isSafeInteger(episodes) && episodes > 0 && Number.isFinite(mean) && isShare))
    return;
  throw new EspalierError(
    "ROLLOUT_INVALID",
    `${what} has ${episodes} episodes, a return of ${mean}, ${positive} of them positive`,
    { fix: "give a number of episodes, their finite mean return, and from 0 to 1 the share of them above 0" },
  );
}

/** True for failures that say no more than that the work was aborted for this reason. */
function isAbort(error: unknown, reason: unknown): boolean {
  for (let at = error; at !== undefined; at = at instanceof Error ? at.cause : undefined)
    if (at === reason || (at instanceof Error && at.name === "AbortError")) return true;
  return false;
}
