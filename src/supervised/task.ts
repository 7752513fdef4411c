import { badOption, EspalierError, treeLeaves, unflatten } from "../core/index.ts";
import {
  type ArrayTree,
  type BatchGroup,
  DataLoader,
  type ExampleTree,
  type Placement,
  placeArrays,
  type Tokenizer,
  withName,
} from "../data/index.ts";
import {
  compile,
  evalShape,
  type Fetch,
  np,
  type Specs,
  spec,
  type Tensor,
  type Value,
} from "../engine/index.ts";
import { KeyCounts, Learner, placeOf, type RankSum, type TensorState } from "../learner/index.ts";
import { inBf16, Moments, type Params } from "../nn/index.ts";
import { findValue, type OptimizerState } from "../optim/index.ts";
import type { RandomStreams } from "../random/index.ts";
import { type Adds, advanceCounters, type Counters, noCounters } from "../schedule/index.ts";
import { type Stateful, sameState } from "../state/index.ts";
import {
  frozenStates,
  type Report,
  type Request,
  type Segment,
  type Setting,
  type Settings,
  type Span,
  type Task,
  type TrainerHook,
} from "../trainer/index.ts";
import { batchSpec, type Examples, inputSpec, placeExamples, targetCheck } from "./examples.ts";
import {
  after,
  arrayFeed,
  type Feed,
  heldBatches,
  isStreamed,
  loading,
  sampleOf,
  streamFeed,
} from "./feed.ts";
import { aboutModel } from "./load-model.ts";
import { type AnyBatch, type SupervisedObjective, supervisedObjective } from "./objective.ts";
import {
  type AnyOptions,
  checkTaskOptions,
  type StreamedData,
  type StreamedOptions,
  type SupervisedData,
  type SupervisedOptions,
} from "./options.ts";
import { tableProvider } from "./tracker.ts";
import { type Rows, rankProgram, trainProgram } from "./update.ts";
import { type HeldOut, heldArrays, sliceRows, validation } from "./validation.ts";

/** A task that learns targets from inputs. */
export interface SupervisedTask<O = Value> extends Task {
  /** The model's outputs for these inputs, with the parameters as they are now. */
  predict(x: ArrayTree): Fetch<O>;
  /** The parameters as they are now. They stay as they are while training goes on. */
  readonly params: Params<Tensor>;
  /**
   * Losses and metrics of other examples, with the parameters as they are now, as validation computes them. Nothing of
   * the task's state changes. `counters` decide weights of losses that change over time. Default: those of a new run.
   */
  test(data: SupervisedData | StreamedData, counters?: Counters): Promise<Readonly<Record<string, number>>>;
}

const kind = "supervisedTask";

/**
 * Training on examples. Arrays stay on the device, each epoch in a new order; a dataset is streamed to it. Gathering a batch, its losses, their
 * gradients and the update are one compiled program, which does one update or many in a call.
 *
 * ```
 * supervisedTask(options)
 *   examples  = data, checked and put on the device             examples.ts
 *   feed      = rows of updates: of those arrays, or streamed   feed.ts
 *   loader    = the order of each epoch, and how far it has got data/loader.ts, data/loading/data-loader.ts
 *   objective = forward pass, losses, metrics                   objective.ts
 *   learner   = parameters, optimizer state, rates              learner/learner.ts
 *
 * task.epoch(counters)   the trainer asks for an epoch's segments: full updates, then the smaller last one,
 *                        cut where the active losses change
 * task.run(request)      the trainer asks for some updates of one segment
 *   program = of the active losses and this size of updates     update.ts, compiled when first needed
 *   values  = program({ data, order, at, ramps, key })          data and order from the feed
 *     for each update: gather rows -> losses and gradients of its micro-batches -> step of the optimizer
 *   loader and keys move on; the values stay on the device until the trainer reads them
 * task.validate(...)     losses and metrics of held-out examples validation.ts
 * ```
 *
 * @example
 * ```ts
 * const task = supervisedTask({
 *   model: nn.mlp({ hidden: [64, 64], out: 3 }),
 *   optimizer: optim.adam(),
 *   data: { x: { data: features, shape: [1000, 4] }, y: labels },
 *   loss: nn.crossEntropy,
 *   metrics: { accuracy },
 *   batchSize: 64,
 *   learningRate: cosine({ from: 1e-3, to: 0, over: { epochs: 20 } }),
 * });
 * await new Trainer({ task, config: { epochs: 20 } }).train();
 * ```
 *
 * With a dataset there is a promise of the task, for its first example has to be read:
 * `await supervisedTask({ data: imageFolder("photos"), ... })`.
 */
export function supervisedTask<X = Value, Y = Value, O = Value>(
  given: StreamedOptions<X, Y, O>,
): Promise<SupervisedTask<O>>;
export function supervisedTask<X = Value, Y = Value, O = Value>(
  given: SupervisedOptions<X, Y, O>,
): SupervisedTask<O>;
export function supervisedTask<X, Y, O>(
  given: SupervisedOptions<X, Y, O> | StreamedOptions<X, Y, O>,
): SupervisedTask<O> | Promise<SupervisedTask<O>> {
  // The types of inputs, targets and outputs matter to the caller alone.
  const asked = given as unknown as AnyOptions;
  checkTaskOptions(kind, asked);
  const options = { ...asked, ...placeOf(kind, asked), devices: undefined };
  return after(sourceOf("data", options, options.data, options), (source) => {
    const { device } = source.examples;
    const { validation: given } = options;
    const held = given && sourceOf("validation", options, given, { device });
    return after(held, (set) => taskOf<O>(options, source, set));
  });
}

/** Examples of a task: on the device, or the first ones of those that are streamed. */
interface Source {
  readonly examples: Examples;
  readonly given: SupervisedData | StreamedData;
}

function sourceOf(
  name: "data" | "validation" | "test",
  options: AnyOptions,
  given: Source["given"],
  place: Placement,
): Source | Promise<Source> {
  const what = `${kind}: ${name}`;
  return after<SupervisedData, Source>(
    isStreamed(given) ? sampleOf(what, loading(what, given, options)) : given,
    (arrays) => ({
      examples: placeExamples(what, arrays, place, options.targets !== undefined),
      given,
    }),
  );
}

function taskOf<O>(options: AnyOptions, source: Source, held: Source | undefined): SupervisedTask<O> {
  const { batchSize, accumulate = 1, maxFuse = 256, targets } = options;
  const { data, length, device } = source.examples;
  const narrow = options.precision === "bf16" && device.engine === "xla";
  const model = narrow ? inBf16(options.model) : options.model;
  if (length === 0 && options.empty !== "skip")
    throw new EspalierError("DATA_EMPTY", `${kind}: the data has no examples`, {
      fix: 'give examples, or say that there may be none: empty: "skip"',
    });

  const batchOf = ({ x, y, weight }: Rows): AnyBatch => ({
    ...(y === undefined && targets ? targets(x) : { x, y: y as ExampleTree<Value> }),
    ...(weight && { weight }),
  });
  const shapes = () =>
    evalShape(
      (p: Params, rows: Rows) => {
        const { x, y } = batchOf(rows);
        return { outputs: model.apply(p, x, { train: false }), y };
      },
      params.specs,
      batchSpec(data, batchSize),
    );
  const objectiveOf = (weighted: boolean) =>
    supervisedObjective({ model, loss: options.loss, metrics: options.metrics ?? {}, weighted, shapes });
  const weighted = [data, held?.examples.data].some((each) => each?.weight !== undefined);
  const objective = objectiveOf(weighted);
  const input = inputSpec(data, batchSize, targets);
  const learner: Learner = new Learner({
    ...options,
    task: kind,
    ramps: objective.ramps,
    init: (key, where) => model.init(key, input, where),
    engine: device.engine,
    device,
    on: device,
  });
  learner.checkShare("batchSize", batchSize);
  const { params, where } = learner;
  const keys = drawKeys(learner.streams);
  const random = new KeyCounts({ keys: { key: keys.dropout }, counts: ["count"], where });
  const loss = (p: Params, rows: Rows): Value => {
    const ramps = Object.fromEntries(Object.keys(objective.ramps).map((name) => [name, 1]));
    return objective.compute(objective.names, { params: p, batch: batchOf(rows), train: false, ramps })[0];
  };
  const trace = (set: Examples) =>
    evalShape(loss, params.specs, batchSpec(set.data, Math.min(batchSize, set.length)));
  const loops = learner.mayLoop(
    () => length > 0 && convolves(loss, learner, data, Math.min(batchSize, length)),
  );
  let warn: (text: string) => void = () => {};
  /** An epoch without updates ends the run. */
  let endsEmpty = false;
  const checkTargets = targetCheck(`${kind}: data`, options, source.examples, params.specs);
  if (!isStreamed(source.given)) checkTargets(source.given);
  if (data.weight && length > 0) trace(source.examples);
  /** Traces the objective over held-out examples, and checks their labels: at once, or when they are loaded. */
  const heldOutOf = (name: "validation" | "test", { examples, given }: Source): HeldOut => {
    const what = `${kind}: ${name}`;
    if (examples.length === 0)
      throw new EspalierError("DATA_EMPTY", `${what} has no examples`, {
        fix: `give examples, or leave ${name} out`,
      });
    // After the training data, so that an error here is about the held-out ones.
    if (length > 0) trace(source.examples);
    withName(what, () => trace(examples));
    const check = targetCheck(what, options, examples, params.specs);
    if (isStreamed(given))
      return heldBatches(loading(what, given, options), { where, check, warn: (text) => warn(text) });
    check(given);
    return heldArrays(examples);
  };
  const heldOut = held && heldOutOf("validation", held);
  const feedOptions = { size: batchSize * accumulate, key: keys.data, where };
  const feed: Feed = isStreamed(source.given)
    ? streamFeed({
        ...feedOptions,
        sample: source.examples,
        load: loading(kind, source.given, options),
        check: checkTargets,
        warn: (text) => warn(text),
      })
    : arrayFeed(source.examples, options, feedOptions);
  const { loader } = feed;
  const components: Record<string, Stateful> = {
    ...learner.components,
    data: loader,
    keys: random,
    ...(options.transform && { transform: options.transform }),
    ...(options.tokenizer && { tokenizer: keptTokenizer(options.tokenizer) }),
    ...objective.components,
  };
  if (length > 0) evalShape(() => objective.setMetrics.start(length));

  /** The ranks that share each update's rows; undefined for one process. */
  let ranks: RankSum | undefined;
  const capacityOf = (batches: BatchGroup): number => feed.capacity(batches, loops && !ranks ? maxFuse : 1);
  let moments: readonly number[] | undefined;
  const programsFor = objective.perSet((_evaluate, names) => {
    const programs = new Map<BatchGroup, ReturnType<typeof trainProgram | typeof rankProgram>>();
    let of = ranks;
    return (batches: BatchGroup) => {
      if (of !== ranks) programs.clear();
      of = ranks;
      moments ??= momentPositions(model, params.specs, input);
      const capacity = capacityOf(batches);
      const set = { learner, objective, names, batches, batchSize, batchOf, capacity, loops, moments };
      const make = () => (ranks ? rankProgram(set, ranks, feedOptions.size) : trainProgram(set));
      const program = programs.get(batches) ?? make();
      programs.set(batches, program);
      return program;
    };
  });

  const at = new Int32Array(3);
  const run = ({ spans, count: asked, ramps }: Request): Report | Promise<Report> => {
    const [span] = spans as readonly [Span];
    const { batches } = span.segment.data as Position;
    checkPosition(loader, span);
    return after(feed.rows(batches, asked), ({ data, order, from, count, ended }) => {
      const end = ended && { exhausted: count };
      if (count === 0) {
        const examples = loader instanceof DataLoader && loader.position === 0 ? loader.leftOver : 0;
        if (examples > 0 && !endsEmpty)
          throw new EspalierError(
            "EPOCH_EMPTY",
            `${kind}: the data has ${examples} examples, fewer than one update of ${batches.size}, and a stream's last update is a whole one`,
            { fix: "give a smaller batchSize, or read the data first: await data.inMemory()" },
          );
        feed.advance(batches, 0, undefined);
        return { metrics: {}, ...end };
      }
      const program = programsFor(objective.active("train", span.at, addsWithSteps(batches)))(batches);
      at[0] = count;
      at[1] = from;
      at[2] = random.counts.count % 2 ** 31;
      const numbers = program.numbers.tensor(ramps, asked);
      const inputs = { data, order, at, ramps: numbers, key: random.tensor("key") };
      return after(program.program(inputs), ({ values, applied }): Report => {
        const nonFinite = learner.nonFinite.report(at[2] as number);
        random.counts.count += count;
        feed.advance(batches, count, values.loss);
        return { metrics: values, ...(applied !== null && { applied }), nonFinite, ...end };
      });
    });
  };

  const tables = tableProvider(options.metrics ?? {});
  let lookForSkipped: ReturnType<typeof skippedUpdates> | undefined;
  const warnOfSkipped = (again: boolean): Promise<void> => {
    lookForSkipped ??= skippedUpdates(learner.state);
    return lookForSkipped(random.counts.count, warn, again);
  };
  const validator = (set: HeldOut, judge = objective): NonNullable<Task["validate"]> => {
    const capacity = loops ? maxFuse : 1;
    let go: ReturnType<typeof validation> | undefined;
    return async ({ counters, signal }) => {
      go ??= validation({ learner, objective: judge, held: set, batchSize, capacity, batchOf });
      const weights = Object.entries(objective.ramps).map(([name, ramp]) => [name, ramp.at(counters)]);
      const { metrics, tables: found } = await go(Object.fromEntries(weights), signal);
      if (set === heldOut) tables.newest = { tables: found, counters };
      // The device has been waited for just now.
      await warnOfSkipped(false);
      return metrics;
    };
  };

  const predictor = compile(
    (arrays: readonly Value[], x: ExampleTree<Value>) => model.apply(params.packing.unpack(arrays), x),
    { ...where, name: "predict" },
  );

  return {
    components,
    sampleUnit: "examples",
    stepUnit: "updates",
    ramps: learner.rates.ramps,
    get settings() {
      return {
        ...taskSettings(narrow ? options : { ...options, precision: "f32" }, feed, objective),
        ...learner.averageSettings,
      };
    },
    about: aboutModel(model, input),
    average: (options) => {
      learner.average(options);
      Object.assign(components, learner.components);
    },
    hooks: [...(objective.hooks as readonly TrainerHook[]), ...(held ? tables.hooks : [])],
    trainsOnRanks: true,
    begin: (started) => {
      warn = started.warn;
      endsEmpty = started.config.onEmpty === "finish";
      ranks = started.ranks && started.ranks.ranks > 1 ? started.ranks : undefined;
      if (ranks && loader instanceof DataLoader && (loader.config.rank?.count ?? 1) > 1)
        throw badOption(
          kind,
          `the loader takes the rows of one rank of ${loader.config.rank?.count}, and the ranks of this run share each batch out`,
          "leave the loader's rank out: otherwise each rank would train on a part of its part",
        );
      const { others } = objective.setMetrics;
      if (ranks && others.length > 0)
        warn(
          `${kind}: training batches do not report ${others.join(", ")}, because states of ranks cannot be added; ` +
            "validation does",
        );
      if (options.precision === "bf16" && !narrow)
        warn(
          `${kind}: precision is "bf16", which the engine ${device.engine} does not have, so that it computes in f32; ` +
            'choose engine: "xla", or leave precision out',
        );
      const streams = learner.begin(started.config, random.counts.count > 0);
      if (!streams) return;
      const drawn = drawKeys(streams);
      feed.restart(drawn.data);
      random.restart({ key: drawn.dropout });
    },
    end: async () => {
      await feed.close();
      await heldOut?.close();
      await warnOfSkipped(true);
    },
    epoch: (counters) => segmentsOf(feed, objective, counters, capacityOf),
    run,
    ...(heldOut && { validate: validator(heldOut) }),
    test: async (given, counters = noCounters) => {
      const set = await sourceOf("test", options, given, where);
      const test = heldOutOf("test", set);
      // Weights that only this set has reach its metrics too.
      const judge = set.examples.data.weight && !weighted ? objectiveOf(true) : objective;
      try {
        return await validator(test, judge)({ counters, signal: new AbortController().signal });
      } finally {
        await test.close();
      }
    },
    snapshot: (names = Object.keys(components)) => frozenStates(kind, components, names),
    get params() {
      return params.getState() as Params<Tensor>;
    },
    predict: (x) => predictor(params.now, placeArrays(`${kind}: predict`, x, where).tree) as Fetch<O>,
  };
}

/** A tokenizer as a component: its recipe. A run goes on with the same one alone. */
const keptTokenizer = ({ recipe }: Tokenizer): Stateful => ({
  getState: () => recipe,
  setState: async (state) => {
    if (await sameState(state, recipe)) return;
    throw new EspalierError("STATE_MISMATCH", "the tokenizer is another one than that of the saved run", {
      fix: "give the tokenizer of the same text or file, or start a new run",
    });
  },
});

const drawKeys = (streams: RandomStreams) => ({
  data: streams.get("data").key(),
  dropout: streams.get("dropout").key(),
});

/** Traces the objective for a batch of `size` examples and looks for convolutions. */
function convolves(
  loss: (params: Params, rows: Rows) => Value,
  { params, where }: Learner,
  data: Examples["data"],
  size: number,
): boolean {
  const start = () => np.zeros([], { dtype: "i32" });
  const traced = compile(
    (arrays: readonly Value[], rows: Rows) =>
      loss(params.packing.unpack(arrays), sliceRows(rows, start(), size)),
    { ...where, name: "the objective" },
  );
  return traced.lower(params.now, data).includes("stablehlo.convolution");
}

/** Positions of the running moments among a model's parameters, found by tracing it in training. */
function momentPositions(
  model: AnyOptions["model"],
  params: Specs<Params>,
  input: Specs<ExampleTree<Value>>,
): readonly number[] {
  let found: readonly number[] = [];
  evalShape(
    (p: Params, x: ExampleTree<Value>, key: Value) => {
      const moments = new Moments();
      model.apply(p, x, { train: true, key, moments });
      found = treeLeaves<Value>(p).flatMap((leaf, i) => (moments.has(leaf) ? [i] : []));
      return {};
    },
    params,
    input,
    spec([2], "u32"),
  );
  return found;
}

/** The position of a segment: updates of one size, from an example of the epoch on. */
interface Position {
  readonly batches: BatchGroup;
  readonly from: number;
}

/** Amounts that one update adds to the counters. */
const addsOf = ({ size }: BatchGroup): Adds => ({ batches: 1, updates: 1, samples: size });

/** The same with the task's own axis, for schedules of losses: a step is an update. */
const addsWithSteps = (batches: BatchGroup): Adds => ({ ...addsOf(batches), steps: 1 });

/** An epoch as segments: full updates, then the smaller one; cut where the active losses change. */
function segmentsOf(
  feed: Feed,
  objective: SupervisedObjective,
  counters: Counters,
  capacityOf: (batches: BatchGroup) => number,
): readonly Segment[] {
  let at = counters;
  return feed.groups.flatMap((batches) => {
    let { from } = batches;
    const adds = addsWithSteps(batches);
    // A stream's end is not known: its updates are not cut, and come one by one where losses change.
    const streamed = feed.length === null;
    const capacity = capacityOf(batches);
    const lengths = streamed ? [batches.count] : objective.chunks("train", at, adds, batches.count);
    at = advanceCounters(at, adds, batches.count);
    return lengths.map((repeats): Segment => {
      const data: Position = { batches, from };
      from += repeats * batches.size;
      return {
        phase: "train",
        repeats,
        adds: addsOf(batches),
        fusesWithNext: false,
        maxFuse: streamed && objective.changes ? 1 : capacity,
        data,
      };
    });
  });
}

/** The loader must stand at the first example of a span, or at an epoch it has left in the middle. */
function checkPosition(loader: Feed["loader"], { segment, from }: Span): void {
  const position = segment.data as Position;
  const begin = position.from + from * position.batches.size;
  if (begin !== loader.position && begin === 0) loader.startNext();
  if (begin === loader.position) return;
  throw new EspalierError(
    "DATA_POSITION",
    `asked for the batch at example ${begin} of the epoch, and the data is at example ${loader.position}`,
    { fix: "restore the component data together with the trainer's state" },
  );
}

/**
 * The set-up that decides the bits of training, as far as plain values tell it. What functions do, a model's dropout or
 * a loss of one's own, cannot be compared; the shapes of parameters are compared when they are restored.
 */
function taskSettings(options: AnyOptions, feed: Feed, objective: SupervisedObjective): Settings {
  const { batchSize, accumulate = 1, lastBatch = "keep", optimizer, seed } = options;
  return {
    batchSize,
    accumulate,
    lastBatch,
    shuffle: feed.shuffle,
    examples: feed.length,
    losses: objective.settings,
    optimizer: { kind: optimizer.kind, rates: optimizer.rates as Setting },
    ...(seed !== undefined && { seed }),
    ...(options.deterministic !== undefined && { deterministic: options.deterministic }),
    // Checkpoints from before there was a choice are of f32 and do not name it.
    ...(options.precision === "bf16" && { precision: "bf16" }),
  };
}

/**
 * Warns of updates that the optimizer has skipped: without it, a run in which none took effect would look completed. It
 * reads the optimizer's count when it is asked to look, and never on the way; where it has warned before, only `again`.
 */
function skippedUpdates(state: TensorState<OptimizerState>) {
  const { shape, types } = state.packing;
  const leaves = unflatten(
    shape,
    types.map((_, leaf) => leaf),
  );
  const leaf = findValue(leaves as OptimizerState<number>, "skipped");
  let known = 0;
  return async (attempted: number, warn: (text: string) => void, again: boolean): Promise<void> => {
    if (leaf === undefined || (known > 0 && !again)) return;
    const skipped = Number((await state.readLeaf(leaf))[0]);
    if (skipped <= known) return;
    known = skipped;
    warn(
      `${skipped} of ${attempted} updates were not applied, because their gradients were not finite (skipNonFinite). ` +
        "To find out why: look for inputs and targets that are not finite or out of range, lower the learning rate, " +
        "and see where it begins: the hook gradientMonitor() with monitor: { gradients: true } names the update",
    );
  };
}
