import { badOption, EspalierError, type Options, option, required, resolveOptions } from "../core/index.ts";
import { type EngineChoice, hostRandom, put, type Tensor, type Value } from "../engine/index.ts";
import {
  compileUpdate,
  devicesRow,
  KeyCounts,
  Learner,
  monitorRow,
  type RateInputs,
  TensorState,
} from "../learner/index.ts";
import { type Loss, type LossFunction, objective as lossesObjective } from "../losses/index.ts";
import type { ApplyOptions, InitOptions, Params } from "../nn/index.ts";
import type { Optimizer } from "../optim/index.ts";
import { paramsRow } from "../rl/index.ts";
import { advanceCounters, type Counters, type Ramp } from "../schedule/index.ts";
import type { Stateful, StateTree } from "../state/index.ts";
import {
  frozenStates,
  type RankGroup,
  type Report,
  type Request,
  type Segment,
  type Setting,
  type Settings,
  type Span,
  type Task,
  type TrainerHook,
} from "../trainer/index.ts";
import { learnProgram, rankLearnProgram, sharedReport } from "./learn.ts";
import { batchesOf, type ReplayCounts, RolloutReplay, type Unit } from "./replay.ts";
import { generatorRow, type NamedArrays, type Rollout, type Transport, type Weights } from "./rollout.ts";
import { arraysOf, copyOf } from "./weights.ts";
import { checkScores, RolloutWorker, type RolloutWorkerOptions } from "./worker.ts";

/** Fields of rollouts by parameters that do not move. */
export interface ReferenceOptions {
  /** Default: the parameters that training begins with. */
  readonly params?: Params<Tensor>;
  /** The fields, from the arrays of a rollout. */
  readonly fields: (
    params: Params,
    arrays: Readonly<Record<string, Value>>,
  ) => Readonly<Record<string, Value>>;
}

const kind = "rolloutTask";

/** The options that every task of rollouts has. */
export const rolloutTaskRows = {
  optimizer: required(
    option.object<Optimizer>("an optimizer: optim.adam({ learningRate: 1e-4 })", ["init", "update"], {}),
  ),
  /**
   * Makes rollouts in this process, with the newest weights, while training waits. With a transport it only validates
   * (`examples`): workers elsewhere have their own, which `espalier worker --config` makes of the run's file.
   */
  generator: generatorRow,
  /** Options of the worker that drives the generator: its curriculum, hooks, tracker, evaluations. */
  worker: option.object<Omit<RolloutWorkerOptions, "generator" | "link" | "weights" | "rollouts">>(
    "options of a rollout worker",
    [],
    {},
  ),
  /** Brings rollouts of workers elsewhere, while training goes on. */
  transport: option.object<Transport>(
    "a transport: workerProcesses({ module, count: 2 })",
    ["publish", "take", "close"],
    {},
  ),
  /** Rollouts of an epoch. With a transport: the fewest, and as many as the updates need. Default: 1. */
  rollouts: option.integer({ min: 1, default: 1 }),
  /** Units in a batch. */
  batchSize: option.integer({ min: 1, required: true }),
  /** Updates of an epoch, fewer where there are not enough units. Default: 1. */
  updates: option.integer({ min: 1, default: 1 }),
  /** How often a unit is learned from, at most. Default: 1. */
  maxReuse: option.integer({ min: 1, default: 1 }),
  /** Updates since its weights after which a rollout is too old. Default: 4 epochs of updates with a transport. */
  maxStaleness: option.number({ min: 0, infinite: true }),
  /** Updates after which a unit is drawn half as often as a new one. Default: age does not count. */
  recency: option.number({ above: 0 }),
  /**
   * With a generator: held-out examples of each lesson in a validation, which a trainer does after each epoch by
   * default. Default: none, the task does not validate; the worker evaluates by its hooks.
   */
  examples: option.integer({ min: 1 }),
  /** First parameters, such as those of a warm start. Default: drawn. */
  params: paramsRow,
  learningRate: option.made<Ramp | number>("a number or a ramp", () => true, {}),
  rates: option.object<RateInputs>("rates of the optimizer by name", [], {}),
  monitor: monitorRow,
  /** The seed of parameters and draws. Default: the run's. */
  seed: option.integer({ min: 0 }),
  engine: option.made<EngineChoice>('"auto", "xla" or "wasm"', () => true, {}),
  /** Devices that train together, each on an equal part of every batch. Default: 1. */
  devices: devicesRow,
  deterministic: option.flag({}),
};

const plain = option.object<Settings>("plain values by name", [], {});
const table = {
  ...rolloutTaskRows,
  /** Draws the first parameters. */
  init: required(option.function<(key: Uint32Array, where: InitOptions) => Params<Tensor>>("a function", {})),
  forward: option.function("a function", { required: true }),
  losses: option.list("a list of losses", { required: true }),
  /** Refuses units that nothing can be learned from; they are counted. */
  useful: option.function<(arrays: NamedArrays, unit: number) => boolean>("a function", {}),
  /** Adds fields to each rollout that parameters give which do not move. */
  reference: option.object<ReferenceOptions>("{ fields: (params, arrays) => ... }", [], {}),
  /** Further settings that a resumed run must share. */
  settings: plain,
  /** Stored with checkpoints and not compared, such as the model's recipe. */
  about: plain,
};

/** Options of {@link rolloutTask}. */
export interface RolloutTaskOptions<B extends object, O>
  extends Omit<Options<typeof table>, "forward" | "losses"> {
  /** The pass that losses share, over a batch of units. */
  readonly forward: (params: Params, batch: B, options: ApplyOptions) => O;
  readonly losses: readonly (Loss<NoInfer<B>, NoInfer<O>> | LossFunction<NoInfer<B>, NoInfer<O>>)[];
}

/** A task that learns from rollouts. */
export interface RolloutTask extends Task {
  /** The parameters now. Training that goes on does not change them. */
  readonly params: Params<Tensor>;
  /** The worker that makes its rollouts, where they are made in this process. */
  readonly worker: RolloutWorker | undefined;
  /** What became of rollouts so far. */
  readonly counts: Readonly<ReplayCounts>;
  /** Closes the transport, and with it its workers, or the worker of this process. A run that fails does it by itself. */
  close(): Promise<void>;
}

/**
 * Learning from rollouts that a worker makes, here or elsewhere. An epoch is:
 *
 * ```
 * rollout   weights, with the trainer's updates as their id, are published
 *           in this process:   worker.step(), `rollouts` times          training waits; resumes bit for bit
 *           by a transport:    transport.take(), until there are units for all updates
 *           rollouts that are too old, from the future or known are refused and counted     replay.ts
 * train     for updates:
 *             batch of units, drawn from what is kept
 *             gradients of the losses, a step of the optimizer
 * ```
 *
 * @example
 * ```ts
 * const task = rolloutTask({
 *   init: (key, where) => policy.init(key, where),
 *   forward: (params, batch: Batch) => outputs(params, batch),
 *   losses: [myLoss],
 *   optimizer: optim.adam({ learningRate: 1e-3 }),
 *   transport: workerProcesses({ module: new URL("./worker.ts", import.meta.url).href, count: 2 }),
 *   batchSize: 32,
 * });
 * await new Trainer({ task, config: { epochs: 100 } }).train();
 * ```
 */
export function rolloutTask<B extends object, O>(options: RolloutTaskOptions<B, O>): RolloutTask {
  const settings = resolveOptions(kind, options, table);
  const { generator, transport, batchSize, updates, rollouts, examples, maxReuse, recency } = settings;
  if (!generator && !transport)
    throw badOption(
      kind,
      "neither a generator nor a transport is given",
      "give a generator, which makes rollouts in this process, or a transport to workers elsewhere",
    );
  if (examples !== undefined && !generator)
    throw badOption(
      kind,
      `examples is ${examples}, and there is no generator to validate with`,
      "give a generator too, or leave examples out: workers evaluate by their hooks",
    );
  const objective = lossesObjective<B, O>({ forward: options.forward, losses: options.losses });
  const learner = new Learner({ ...options, task: kind, ramps: objective.ramps });
  learner.checkShare("batchSize", batchSize);
  const replay = new RolloutReplay({
    maxReuse,
    maxStaleness: options.maxStaleness ?? (transport ? 4 * updates : Number.POSITIVE_INFINITY),
    recency,
    useful: options.useful,
  });
  const keys = new KeyCounts({ keys: keysOf(learner), counts: ["updates"], where: learner.where });
  const reference = options.reference && referenceOf(learner, options.reference);
  let newest: Weights | undefined;
  /** The worker of this process. It takes the weights of now; `worker.step()` gives the task its rollouts. */
  const worker =
    transport || !generator
      ? undefined
      : new RolloutWorker({
          seed: keys.keys.worker[0] as number,
          ...options.worker,
          generator,
          weights: {
            receive: async () => {
              const found = newest;
              newest = undefined;
              return found;
            },
          },
          rollouts: { send: async () => undefined },
        });
  /** Ranks that share each batch; the main one has the rollouts. Undefined for one process. */
  const ranksOf = (group: RankGroup) => ({
    group,
    programFor: objective.perSet((evaluate, names) =>
      rankLearnProgram(learner, group, batchSize, options.losses, names, evaluate),
    ),
  });
  type Ranks = ReturnType<typeof ranksOf>;
  let ranks: Ranks | undefined;
  const trainAdds = { batches: 1, updates: 1, samples: batchSize };
  const rollout: Segment = { phase: "rollout", repeats: 1, adds: {}, fusesWithNext: false, maxFuse: 1 };
  const epoch = (at: Counters): readonly Segment[] => {
    const chunks = objective.chunks("train", advanceCounters(at, {}, 1), trainAdds, updates);
    const maxFuse = ranks ? 1 : updates;
    const train = { phase: "train", adds: trainAdds, fusesWithNext: false, maxFuse } as const;
    return [rollout, ...chunks.map((repeats): Segment => ({ ...train, repeats }))];
  };

  let warn: (text: string) => void = () => undefined;
  let warned = false;
  const collect = async ({ at, signal, stopping = signal }: Request): Promise<Report> => {
    const before = { ...replay.counts };
    replay.expire(at.updates);
    const arrays = await arraysOf(learner.params.getState() as Params<Tensor>);
    newest = { id: at.updates, arrays };
    await transport?.publish(newest);
    const seen: Rollout[] = [];
    let refused = 0;
    // Where little can be learned from rollouts, some more are made, but not without end.
    const enough = (): boolean =>
      seen.length >= rollouts && replay.available >= (transport ? batchSize * updates : batchSize);
    while (!enough() && seen.length < (transport ? 64 : 4) * rollouts) {
      signal.throwIfAborted();
      const next = worker ? await worker.step({ signal }) : await transport?.take({ signal: stopping });
      signal.throwIfAborted();
      // Workers may have none for a long time, and a run that is to end does not wait for them.
      if (!next && transport && stopping.aborted) break;
      if (!next) throw noMore(worker);
      if (replay.add(reference ? await reference.score(next) : next, at.updates)) seen.push(next);
      else if (replay.counts.duplicates - before.duplicates > manyDuplicates) throw knownAlready(next);
      else if (++refused === manyRefused) warn(onlyOldWeights(next, at));
    }
    if (replay.available === 0 && !warned && !stopping.aborted) {
      warned = true;
      warn(
        `${kind}: nothing can be learned from the ${seen.length} rollouts of epoch ${at.epoch}, so it has no updates ` +
          `(${whyNothing(seen)})`,
      );
    }
    return rolloutReport(learner, seen, before, replay);
  };

  /** Batches for so many updates, fewer where nothing is left. */
  const drawBatches = (count: number): readonly (readonly Unit[])[] => {
    const drawn: (readonly Unit[])[] = [];
    while (drawn.length < count && replay.available > 0) {
      const key = hostRandom.hostFoldIn(keys.keys.replay, keys.counts.updates + drawn.length);
      drawn.push(replay.draw(batchSize, key));
    }
    return drawn;
  };
  const inputsOf = (
    batches: NamedArrays,
    numbers: ReturnType<Learner["rampNumbers"]>,
    ramps: Request["ramps"],
    count: number,
  ) => ({
    batches: onDevice(batches, learner),
    at: Int32Array.of(count, keys.counts.updates % 2 ** 31),
    ramps: numbers.tensor(ramps, count),
    key: keys.keys.losses,
  });
  /** Counts updates and reports them. */
  const reportOf = (
    { batches, at: [done = 0] }: ReturnType<typeof inputsOf>,
    { metrics, applied }: Pick<Report, "metrics"> & { readonly applied: Tensor | null },
  ): Report => {
    for (const tensor of Object.values(batches)) tensor.dispose();
    const nonFinite = learner.nonFinite.report(keys.counts.updates % 2 ** 31);
    keys.counts.updates += done;
    return { metrics, ...(applied !== null && { applied }), nonFinite };
  };

  const programFor = objective.perSet((evaluate) => learnProgram(learner, evaluate, updates));
  const learn = ({ at }: Span, count: number, ramps: Request["ramps"]): Report => {
    const drawn = drawBatches(count);
    if (drawn.length === 0) return { metrics: {}, exhausted: 0 };
    const { program, numbers } = programFor(objective.active("train", at, trainAdds));
    const inputs = inputsOf(batchesOf(drawn, batchSize, updates), numbers, ramps, drawn.length);
    const report = reportOf(inputs, program(inputs));
    return drawn.length < count ? { ...report, exhausted: drawn.length } : report;
  };
  /** One update together with the other ranks. */
  const learnOn = async (
    { group, programFor }: Ranks,
    { at }: Span,
    ramps: Request["ramps"],
  ): Promise<Report> => {
    const [units] = group.rank === 0 ? drawBatches(1) : [];
    const batch = await group.broadcast("batch", units ? batchesOf([units], batchSize) : null);
    if (!batch) return { metrics: {}, exhausted: 0 };
    const { program, numbers } = programFor(objective.active("train", at, trainAdds));
    const inputs = inputsOf(batch, numbers, ramps, 1);
    return reportOf(inputs, await program(inputs));
  };
  const close = async (): Promise<void> => {
    await transport?.close();
    await (worker ?? generator)?.close?.();
  };
  /** Workers of a run that has failed would wait for its next weights. */
  const closesFailed: TrainerHook = {
    name: "rollout.close",
    onTrainingEnd: ({ outcome }) => (outcome === "failed" ? close() : undefined),
  };

  const task: RolloutTask = {
    /** Looked up each time: hooks of the worker come and go. */
    get components() {
      return {
        ...learner.components,
        replay,
        keys,
        ...(worker && workerStates(worker)),
        ...(transport && { transport: transport.state ?? stateless }),
        ...(reference && { reference: reference.state }),
        ...objective.components,
      };
    },
    epoch,
    sampleUnit: "examples",
    stepUnit: "updates",
    counters: ["episodes", "rollouts"],
    ramps: learner.rates.ramps,
    get settings() {
      return {
        batchSize,
        updates,
        rollouts,
        maxReuse,
        ...(Number.isFinite(options.maxStaleness) && { maxStaleness: options.maxStaleness as number }),
        ...(recency !== undefined && { recency }),
        losses: objective.names,
        optimizer: { kind: options.optimizer.kind, rates: options.optimizer.rates as Setting },
        ...(options.seed !== undefined && { seed: options.seed }),
        ...learner.averageSettings,
        ...(generator?.settings && { generator: generator.settings }),
        ...options.settings,
      };
    },
    ...(options.about && { about: options.about }),
    average: (average) => learner.average(average),
    hooks: [...(objective.hooks as readonly TrainerHook[]), closesFailed],
    trainsOnRanks: true,
    begin: ({ config, warn: say, ranks: group }) => {
      warn = say;
      ranks = group && group.ranks > 1 ? ranksOf(group) : undefined;
      const streams = learner.begin(config, keys.counts.updates > 0);
      if (!streams) return;
      keys.restart(keysOf({ streams }));
      if (options.worker?.seed === undefined) worker?.reseed(keys.keys.worker[0] as number);
      reference?.restart();
    },
    run: (request) => {
      const { spans, count, ramps } = request;
      const [span] = spans as readonly [Span];
      if (span.segment.phase === "train")
        return ranks ? learnOn(ranks, span, ramps) : learn(span, count, ramps);
      if (!ranks) return collect(request);
      const { group } = ranks;
      const own = group.rank === 0 ? collect(request) : Promise.resolve(undefined);
      return own.then((report) => sharedReport(group, learner, report));
    },
    ...(generator &&
      examples !== undefined && {
        validate: async ({ signal }: { readonly signal: AbortSignal }) => {
          await generator.setParams(learner.params.getState() as Params<Tensor>);
          const key = keys.keys.validation;
          const scores: Record<string, number> = {};
          for (const lesson of generator.lessons) {
            const found = await generator.evaluate({ lesson, key, signal, warn, examples });
            checkScores(`the evaluation of lesson "${lesson}"`, found);
            const { episodes, return: mean, positive, metrics } = found;
            const values = { ...(episodes > 0 && { return: mean, positive }), ...metrics };
            for (const [name, value] of Object.entries(values)) scores[`${lesson}.${name}`] = value;
          }
          return scores;
        },
      }),
    snapshot: (names = Object.keys(task.components)) => frozenStates(kind, task.components, names),
    get params() {
      return learner.params.getState() as Params<Tensor>;
    },
    worker,
    counts: replay.counts,
    close,
  };
  return task;
}

function whyNothing(seen: readonly Rollout[]): string {
  const failures = seen.reduce((sum, { metrics }) => sum + (metrics?.["reward.failures"] ?? 0), 0);
  if (failures > 0) return `${failures} rewards failed; onRewardFailure: "error" says how`;
  return "rewards that are all equal teach nothing; a warm start or an easier lesson makes them differ";
}

/** For a transport that remembers nothing: a run can be resumed with another that does. */
const stateless: Stateful = { getState: () => ({}), setState: () => undefined };

/** Parameters that do not move, and fields of rollouts by them. */
function referenceOf(learner: Learner, options: ReferenceOptions) {
  const first = (): Params<Tensor> => {
    const own = learner.params.getState() as Params<Tensor>;
    return copyOf("the reference is", options.params ?? own, own, learner.where);
  };
  const state = new TensorState<Params>("reference", first(), learner.stateOptions);
  const fieldsOf: (inputs: Readonly<Record<string, Tensor>>) => Readonly<Record<string, Tensor>> =
    compileUpdate(
      { updates: {}, reads: { params: state } },
      ({ params }, arrays: Readonly<Record<string, Value>>) => [
        {},
        options.fields(params, learner.shard(arrays)),
      ],
      learner.compileOptions("the reference"),
    );
  return {
    state,
    /** The run's first parameters have been drawn again. */
    restart: (): void => {
      if (!options.params) state.setState(first() as StateTree);
    },
    score: async (rollout: Rollout): Promise<Rollout> => {
      const inputs = onDevice(rollout.arrays, learner);
      const fields = fieldsOf(inputs);
      const added = await arraysOf(fields as Params<Tensor>);
      for (const tensor of [...Object.values(inputs), ...Object.values(fields)]) tensor.dispose();
      return { ...rollout, arrays: { ...rollout.arrays, ...added } };
    },
  };
}

const keysOf = ({ streams }: Pick<Learner, "streams">) => ({
  worker: streams.get("worker").key(),
  replay: streams.get("replay").key(),
  losses: streams.get("losses").key(),
  validation: streams.get("validation").key(),
});

/** The worker's states under its name. */
const workerStates = ({ components }: RolloutWorker): Readonly<Record<string, Stateful>> =>
  Object.fromEntries(
    Object.entries(components).map(([name, part]) => [name === "worker" ? name : `worker.${name}`, part]),
  );

/** Rollouts in an epoch that are known already before it is an error: a lost message is sent again, not so many. */
const manyDuplicates = 64;
const knownAlready = ({ worker, id }: Rollout): EspalierError =>
  new EspalierError(
    "ROLLOUT_DUPLICATE",
    `${kind}: ${worker} sends rollouts that are known already, such as "${id}"`,
    { fix: "give a worker that starts anew another name, or restore its components with the trainer's" },
  );

/** Rollouts in an epoch that are refused before it is said: what is made after weights were published is fresh. */
const manyRefused = 256;
const onlyOldWeights = ({ worker, weightId }: Rollout, { epoch, updates }: Counters): string =>
  `${kind}: epoch ${epoch} waits for rollouts of new weights. ${manyRefused} of others were refused; ${worker} still has ` +
  `weights ${weightId}, and training is at ${updates}: see what it says about receiving them`;

const noMore = (worker: RolloutWorker | undefined): EspalierError =>
  new EspalierError(
    worker ? "WORKER_ENDED" : "TRANSPORT_CLOSED",
    `${kind}: there are no more rollouts, because the ${worker ? "worker was stopped" : "transport was closed"}`,
    { fix: worker ? "end training by the trainer's stop" : "keep the transport open while training goes on" },
  );

const onDevice = (arrays: NamedArrays, { where }: Learner): Readonly<Record<string, Tensor>> =>
  Object.fromEntries(
    Object.entries(arrays).map(([name, { data, shape }]) => [name, put(data, { ...where, shape })]),
  );

/**
 * Metrics of the rollouts that an epoch took, and what was refused meanwhile. Without an episode that ended reward and
 * performance are NaN, and other metrics count alike in all rollouts.
 */
function rolloutReport(
  { where }: Learner,
  seen: readonly Rollout[],
  before: ReplayCounts,
  { counts }: RolloutReplay,
): Report {
  const episodes = seen.reduce((sum, one) => sum + one.episodes, 0);
  const mean = (of: (one: Rollout) => number): number =>
    seen.reduce((sum, one) => sum + of(one) * (episodes > 0 ? one.episodes : 1), 0) /
    (episodes || seen.length);
  const names = new Set(seen.flatMap(({ metrics }) => Object.keys(metrics ?? {})));
  const values: Record<string, number> = {
    reward: episodes > 0 ? mean((one) => one.return) : Number.NaN,
    performance: episodes > 0 ? mean((one) => one.positive) : Number.NaN,
    episodes,
    ...Object.fromEntries([...names].map((name) => [name, mean((one) => one.metrics?.[name] ?? 0)])),
  };
  for (const name of ["stale", "future", "duplicates", "useless", "expired"] as const)
    values[`rollouts.${name}`] = counts[name] - before[name];
  return {
    metrics: Object.fromEntries(
      Object.entries(values).map(([name, value]) => [name, put(Float32Array.of(value), where)]),
    ),
    counted: { episodes: [episodes], rollouts: [seen.length] },
  };
}
