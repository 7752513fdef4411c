import {
  CheckpointManager,
  type CheckpointStore,
  type Json,
  type Keep,
  snapshot,
  storeAt,
} from "../checkpoint/index.ts";
import {
  badOption,
  checkNames,
  EspalierError,
  nameWords,
  type Options,
  option,
  resolveOptions,
  type Settings,
} from "../core/index.ts";
import { hostRandom } from "../engine/index.ts";
import {
  compositeHook,
  type HookContext,
  type HookSettings,
  PeriodicHook,
  type Slot,
} from "../hooks/index.ts";
import { curriculumValues } from "../rl/index.ts";
import { every, type Schedule } from "../schedule/index.ts";
import type { Stateful } from "../state/index.ts";
import { evaluationScores } from "../trainer/index.ts";
import { type EvaluatedScores, resultOf } from "./rollout.ts";
import type { optionTable, WorkerContext, WorkerHook } from "./worker.ts";

// The hooks of document 002. Each has `run` and no handler, so that any host calls it at the end of its steps: the
// worker in onStep, the trainer in onBatchEnd, or in onEpochEnd where its schedule counts epochs. Names follow from what
// a hook does and when, and values are logged under that name, so that several of a kind live beside each other.

const periodTable = {
  /** Steps of the host from one run to the next. Default: 100. */
  frequency: option.integer({ min: 1 }),
  /** The first step at which it may run. Default: 0. */
  startStep: option.integer({ min: 0, default: 0 }),
  /** Instead of a frequency. */
  schedule: option.object<Schedule>("a schedule: every({ steps: 100 })", ["due"], {}),
  /** Default: follows from what it does and when. */
  name: option.text({}),
};

type PeriodOptions = Options<typeof periodTable>;

/** The period of a hook and its name: `logging-100`. */
function periodOf(what: string, settings: Settings<typeof periodTable>) {
  const { frequency = 100, startStep, schedule } = settings;
  if (schedule && settings.frequency !== undefined)
    throw badOption(what, "it has a frequency and a schedule", "give one of the two");
  const steps = `${frequency}${startStep > 0 ? `-from-${startStep}` : ""}`;
  const name = settings.name ?? `${what}-${schedule?.describe().replaceAll(/\W+/g, "-") ?? steps}`;
  return schedule ? { schedule, name } : { frequency, startStep, name };
}

const evaluationTable = {
  ...periodTable,
  /** Episodes of each lesson. Default: 64. */
  nExamples: option.integer({ min: 1, default: 64 }),
  /** What its scores are called: the first part of its name. Default: "eval". */
  evalType: option.text({ default: "eval" }),
  /** All lessons, or the one of the step. Default: true. */
  evaluateAllLessons: option.flag({ default: true }),
  /**
   * Its scores fill the slot `evaluationScores` and move the curriculum. One hook of a worker does that: the default
   * hook "evaluation". Default: false.
   */
  primary: option.flag({ default: false }),
};

type EvaluationHookOptions = Options<typeof evaluationTable>;

/**
 * Evaluates a rollout worker's weights on episodes that training never sees, and logs the scores under its name: for
 * each lesson `<lesson>.return`, `.positive`, `.episodes` and what the generator measures, and the same of all together.
 * Each evaluation draws its episodes from the step's key.
 *
 * @example
 * ```ts
 * worker.registerHook(new EvaluationHook({ frequency: 5 })); // eval-5/addition.return
 * worker.registerHook(new EvaluationHook({ frequency: 50, nExamples: 32, evalType: "custom_eval" }));
 * ```
 */
export class EvaluationHook extends PeriodicHook<WorkerContext> {
  readonly provides: readonly Slot[];
  readonly #examples: number;
  readonly #all: boolean;

  constructor(options: EvaluationHookOptions = {}) {
    const settings = resolveOptions("evaluationHook", options, evaluationTable);
    const { evalType, evaluateAllLessons } = settings;
    super(periodOf(evaluateAllLessons ? evalType : `${evalType}-lesson`, settings));
    this.provides = settings.primary ? [evaluationScores] : [];
    this.#examples = settings.nExamples;
    this.#all = evaluateAllLessons;
  }

  override async run(context: WorkerContext): Promise<Readonly<Record<string, number>>> {
    const { worker, lessonId, counters, slots } = context;
    const { name } = this;
    if (worker === undefined)
      throw new EspalierError("HOOK_INVALID", `hook "${name}" evaluates the weights of a rollout worker`, {
        fix: "register it on a RolloutWorker; a trainer has evaluationHook of espalier/rl",
      });
    const found = await worker.evaluate({
      lessons: this.#all || lessonId === undefined ? worker.lessons : [lessonId],
      examples: this.#examples,
      key: hostRandom.hostFoldIn(context.rng, nameWords(name)[0]),
    });
    const scores = scoresOf(found);
    context.log(scores, name);
    if (this.provides.length > 0) {
      slots.set(evaluationScores, { scores, counters });
      const results = Object.entries(found).filter(([, { episodes }]) => episodes > 0);
      worker.curriculum.evaluated(results.map(([name, each]) => resultOf(worker.lessons, name, each)));
      context.log(curriculumValues(worker.curriculum), "curriculum");
    }
    return Object.fromEntries(Object.entries(scores).map(([name, score]) => [`${this.name}/${name}`, score]));
  }
}

/**
 * Makes an {@link EvaluationHook}.
 *
 * @example
 * ```ts
 * worker.registerHook(evaluationHook({ frequency: 5 }));
 * ```
 */
export const evaluationHook = (options?: EvaluationHookOptions) => new EvaluationHook(options);

/** Scores by name: of each lesson, and of all episodes together. */
function scoresOf(found: Readonly<Record<string, EvaluatedScores>>): Readonly<Record<string, number>> {
  const scores: Record<string, number> = {};
  let [episodes, sum, positive] = [0, 0, 0];
  for (const [lesson, each] of Object.entries(found)) {
    for (const [name, value] of Object.entries(each.metrics ?? {})) scores[`${lesson}.${name}`] = value;
    scores[`${lesson}.episodes`] = each.episodes;
    if (each.episodes === 0) continue;
    scores[`${lesson}.return`] = each.return;
    scores[`${lesson}.positive`] = each.positive;
    episodes += each.episodes;
    sum += each.episodes * each.return;
    positive += each.episodes * each.positive;
  }
  if (episodes === 0) return { ...scores, episodes };
  return { ...scores, return: sum / episodes, positive: positive / episodes, episodes };
}

/** The evaluations that a worker has by itself: of the current lesson, and of all lessons for the curriculum. */
export function defaultHooks(settings: Settings<typeof optionTable>): readonly WorkerHook[] {
  const { evalFrequency, evalUnit } = settings;
  return [
    evaluationHook({
      name: "micro-evaluation",
      frequency: settings.microEvalFrequency,
      nExamples: settings.microEvalExamples,
      evaluateAllLessons: false,
    }),
    evaluationHook({
      name: "evaluation",
      schedule: evalUnit === "trainer" ? every({ updates: evalFrequency }) : every({ steps: evalFrequency }),
      nExamples: settings.evalExamples,
      primary: true,
    }),
  ];
}

/**
 * Logs the state of its host now and then, under its name: the counters, and of a worker the lesson and the numbers of
 * its metadata.
 *
 * @example
 * ```ts
 * worker.registerHook(new LoggingHook({ frequency: 100 })); // logging-100/steps, logging-100/reward
 * ```
 */
export class LoggingHook extends PeriodicHook {
  constructor(options: PeriodOptions = {}) {
    super(periodOf("logging", resolveOptions("LoggingHook", options, periodTable)));
  }

  override run(context: HookContext & Partial<Pick<WorkerContext, "lessonId" | "metadata">>): void {
    const { counters, lessonId, metadata = {} } = context;
    const numbers = Object.entries(metadata).filter(([, value]) => typeof value === "number");
    const lesson = lessonId !== undefined && { lesson: lessonId };
    context.log({ ...counters, ...Object.fromEntries(numbers), ...lesson }, this.name);
  }
}

const metricsTable = {
  ...periodTable,
  metrics: option.function("a function of the context", { required: true }),
};

type Values = Readonly<Record<string, unknown>>;
interface MetricsOptions<C extends HookContext> extends PeriodOptions {
  /** Measures: a number or a text by name. */
  readonly metrics: (context: C) => Values | Promise<Values>;
}

/**
 * Logs metrics of your own now and then, under its name.
 *
 * @example
 * ```ts
 * worker.registerHook(
 *   new MetricsHook({ frequency: 25, metrics: ({ metadata }: WorkerContext) => ({ reward: metadata.reward }) }),
 * );
 * ```
 */
export class MetricsHook<C extends HookContext = HookContext> extends PeriodicHook<C> {
  readonly #metrics: MetricsOptions<C>["metrics"];

  constructor(options: MetricsOptions<C>) {
    super(periodOf("metrics", resolveOptions("MetricsHook", options, metricsTable)));
    this.#metrics = options.metrics;
  }

  override run(context: C): void | Promise<void> {
    const found = this.#metrics(context);
    if (!(found instanceof Promise)) return context.log(found, this.name);
    return found.then((values) => context.log(values, this.name));
  }
}

/** A context with the state of its host: the trainer's and the worker's. */
type SavedContext = HookContext & {
  readonly components: Readonly<Record<string, Stateful>>;
  readonly settings?: Json;
  readonly about?: Json | undefined;
};

const checkpointTable = {
  ...periodTable,
  /** Where checkpoints lie; or `store`. */
  directory: option.text({}),
  store: option.object<CheckpointStore>('a store: localStore("runs/worker-0")', ["lock"], {}),
  /** Which checkpoints stay. Default: all. */
  keep: option.object<Keep>("which stay: { last: 3 }", [], {}),
};

/**
 * Saves the whole state of its host now and then: frozen when all hooks of the step have run, and written while the host
 * goes on. `restore` gives the newest back to a worker that has not begun. A trainer also has `checkpointHook`, which
 * restores by itself, saves at the end and publishes.
 *
 * @example
 * ```ts
 * const checkpoints = new CheckpointHook({ frequency: 100, directory: "runs/worker-0", keep: { last: 3 } });
 * const worker = new RolloutWorker({ generator, link, hooks: [checkpoints] });
 * await checkpoints.restore(worker); // Killed and started again, it goes on.
 * ```
 */
export class CheckpointHook extends PeriodicHook<SavedContext> {
  readonly #manager: CheckpointManager;

  constructor(options: Options<typeof checkpointTable>) {
    const settings = resolveOptions("CheckpointHook", options, checkpointTable);
    super(periodOf("checkpoint", settings));
    const { directory, keep } = settings;
    const store = settings.store ?? (directory === undefined ? undefined : storeAt(directory));
    if (store === undefined)
      throw badOption(
        "CheckpointHook",
        "there is no place for checkpoints",
        'give directory: "runs/worker-0"',
      );
    this.#manager = new CheckpointManager({ store, ...(keep && { keep }) });
  }

  override run({ counters, components, settings, about, afterEvent, inBackground }: SavedContext): void {
    afterEvent(async () => {
      const frozen = await snapshot(components);
      const config = settings && { config: settings };
      inBackground(this.#manager.write(frozen, { counters, ...config, ...(about && { about }) }));
    });
  }

  /** Restores the newest whole checkpoint. False where there is none. */
  async restore(host: { readonly components: Readonly<Record<string, Stateful>> }): Promise<boolean> {
    const newest = await this.#manager.latest();
    if (newest) await this.#manager.restore(host.components, newest);
    return newest !== undefined;
  }

  /** Waits for writes and unlocks the store. */
  onUnregister(): Promise<void> {
    return this.#manager.close();
  }
}

/**
 * Several hooks that come and go as one. Each keeps its name, its schedule and its place in the order.
 *
 * @example
 * ```ts
 * worker.registerHook(new CompositeHook([new EvaluationHook({ frequency: 100 }), new LoggingHook({ frequency: 50 })]));
 * ```
 */
export class CompositeHook<C extends HookContext = HookContext> implements HookSettings<C> {
  readonly name: string;
  readonly children: readonly HookSettings<C>[];

  constructor(hooks: readonly HookSettings<C>[], options: { readonly name?: string } = {}) {
    checkNames("CompositeHook", options, ["name"]);
    const names = [hooks ?? []].flat().map(({ name }) => name);
    // The hook in it has its own name already.
    this.name = options.name ?? (names.length === 1 ? `composite of ${names[0]}` : names.join(" + "));
    this.children = compositeHook({ name: this.name, hooks }).children;
  }
}
