import { EspalierError, unflatten } from "../core/index.ts";
import { type ArrayTree, type BatchGroup, type ExampleTree, Loader, placeArrays } from "../data/index.ts";
import {
  compile,
  evalShape,
  type Fetch,
  np,
  put,
  type Specs,
  type Tensor,
  type Value,
} from "../engine/index.ts";
import { KeyCounts, Learner, type TensorState } from "../learner/index.ts";
import type { Params } from "../nn/index.ts";
import { findValue, type OptimizerState } from "../optim/index.ts";
import type { RandomStreams } from "../random/index.ts";
import { type Adds, advanceCounters, type Counters, noCounters } from "../schedule/index.ts";
import type { Stateful } from "../state/index.ts";
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
import { batchSpec, checkTargets, type Examples, inputSpec, placeExamples, withName } from "./examples.ts";
import { type AnyBatch, type SupervisedObjective, supervisedObjective } from "./objective.ts";
import { type AnyOptions, checkTaskOptions, type SupervisedData, type SupervisedOptions } from "./options.ts";
import { TableProvider } from "./tables.ts";
import { type Rows, trainProgram } from "./update.ts";
import { sliceRows, validation } from "./validation.ts";

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
  test(data: SupervisedData, counters?: Counters): Promise<Readonly<Record<string, number>>>;
}

const kind = "supervisedTask";

/**
 * Training on examples. They stay on the device, each epoch in a new order; gathering a batch, its losses, their
 * gradients and the update are one compiled program, which does one update or many in a call.
 *
 * ```
 * supervisedTask(options)
 *   examples  = data, checked and put on the device             examples.ts
 *   loader    = the order of each epoch, and how far it has got data/loader.ts
 *   objective = forward pass, losses, metrics                   objective.ts
 *   learner   = parameters, optimizer state, rates              learner/learner.ts
 *
 * task.epoch(counters)   the trainer asks for an epoch's segments: full updates, then the smaller last one,
 *                        cut where the active losses change
 * task.run(request)      the trainer asks for some updates of one segment
 *   program = of the active losses and this size of updates     update.ts, compiled when first needed
 *   values  = program({ data, order, at, ramps, key })
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
 */
export function supervisedTask<X = Value, Y = Value, O = Value>(
  given: SupervisedOptions<X, Y, O>,
): SupervisedTask<O> {
  // The types of inputs, targets and outputs matter to the caller alone.
  const options = given as unknown as AnyOptions;
  checkTaskOptions(kind, options);
  const { model, batchSize, accumulate = 1, maxFuse = 256, targets, shuffle, lastBatch } = options;
  const examples = placeExamples(`${kind}: data`, options.data, options, targets !== undefined);
  const { data, length, device } = examples;
  if (length === 0 && options.empty !== "skip")
    throw new EspalierError("DATA_EMPTY", `${kind}: the data has no examples`, {
      fix: 'give examples, or say that there may be none: empty: "skip"',
    });

  const batchOf = ({ x, y, weight }: Rows): AnyBatch => ({
    ...(y === undefined && targets ? targets(x) : { x, y: y as ExampleTree<Value> }),
    ...(weight && { weight }),
  });
  const objective = supervisedObjective({
    model,
    loss: options.loss,
    metrics: options.metrics ?? {},
    weighted: data.weight !== undefined || options.validation?.weight !== undefined,
    shapes: () =>
      evalShape(
        (p: Params, rows: Rows) => {
          const { x, y } = batchOf(rows);
          return { outputs: model.apply(p, x, { train: false }), y };
        },
        params.specs,
        batchSpec(data, batchSize),
      ),
  });
  const input = inputSpec(data, batchSize, targets);
  const learner = new Learner({
    task: kind,
    optimizer: options.optimizer,
    learningRate: options.learningRate,
    rates: options.rates,
    ramps: objective.ramps,
    monitor: options.monitor,
    params: options.params,
    init: (key, where) => model.init(key, input, where),
    seed: options.seed,
    streams: options.streams,
    engine: device.engine,
    device: device.index,
    on: device,
    deterministic: options.deterministic,
  });
  const { params, where } = learner;
  const keys = drawKeys(learner.streams);
  const loader = new Loader({
    length,
    batchSize: batchSize * accumulate,
    key: keys.data,
    shuffle,
    lastBatch,
  });
  const random = new KeyCounts({ keys: { key: keys.dropout }, counts: ["count"], where });
  const components: Record<string, Stateful> = {
    ...learner.components,
    data: loader,
    keys: random,
    ...objective.components,
  };

  const loss = (p: Params, rows: Rows): Value => {
    const ramps = Object.fromEntries(Object.keys(objective.ramps).map((name) => [name, 1]));
    return objective.compute(objective.names, { params: p, batch: batchOf(rows), train: false, ramps })[0];
  };
  const held = options.validation && placeHeldOut(options, options.validation, where, "validation");
  const loops = learner.mayLoop(
    () => length > 0 && convolves(loss, learner, data, Math.min(batchSize, length)),
  );
  checkExamples(options, examples, held, params.specs, loss);
  if (length > 0) evalShape(() => objective.setMetrics.start(length));

  const capacityOf = (batches: BatchGroup): number => (loops ? Math.min(maxFuse, batches.count) : 1);
  const programsFor = objective.perSet((names) => {
    const programs = new Map<BatchGroup, ReturnType<typeof trainProgram>>();
    return (batches: BatchGroup) => {
      const known = programs.get(batches);
      if (known) return known;
      const capacity = capacityOf(batches);
      const made = trainProgram({ learner, objective, names, batches, batchSize, batchOf, capacity, loops });
      programs.set(batches, made);
      return made;
    };
  });

  let order: { readonly rows: Int32Array; readonly tensor: Tensor } | undefined;
  const orderOnDevice = (): Tensor => {
    const rows = loader.order;
    if (order?.rows === rows) return order.tensor;
    order?.tensor.dispose();
    order = { rows, tensor: put(rows, where) };
    return order.tensor;
  };

  const at = new Int32Array(3);
  const run = ({ spans, count, ramps }: Request): Report => {
    const [span] = spans as readonly [Span];
    const { batches } = span.segment.data as Position;
    const begin = beginOf(loader, span);
    const { program, numbers } = programsFor(objective.active(span.at, addsWithSteps(batches)))(batches);
    at[0] = count;
    at[1] = begin;
    at[2] = random.counts.count % 2 ** 31;
    const { values, applied } = program({
      data,
      order: orderOnDevice(),
      at,
      ramps: numbers.tensor(ramps, count),
      key: random.tensor("key"),
    });
    const nonFinite = learner.nonFinite.report(at[2]);
    random.counts.count += count;
    loader.advance(count * batches.size);
    // Now the device is busy.
    loader.prepareNext();
    return applied === null ? { metrics: values, nonFinite } : { metrics: values, applied, nonFinite };
  };

  const tables = new TableProvider(options.metrics ?? {});
  let counted: SkippedUpdates | undefined;
  const skippedUpdates = (): SkippedUpdates => {
    counted ??= new SkippedUpdates(learner.state);
    return counted;
  };
  let warn: (text: string) => void = () => {};
  const validator = (examples: Examples): NonNullable<Task["validate"]> => {
    const capacity = loops ? maxFuse : 1;
    let go: ReturnType<typeof validation> | undefined;
    return async ({ counters, signal }) => {
      go ??= validation({ learner, objective, examples, batchSize, capacity, batchOf });
      const weights = Object.entries(objective.ramps).map(([name, ramp]) => [name, ramp.at(counters)]);
      const { metrics, tables: found } = await go(Object.fromEntries(weights), signal);
      if (examples === held) tables.newest = { tables: found, counters };
      // The device has been waited for just now.
      const skipped = skippedUpdates();
      if (!skipped.reported) await skipped.look(random.counts.count, warn);
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
      return { ...taskSettings(options, loader, objective), ...learner.averageSettings };
    },
    average: (options) => {
      learner.average(options);
      Object.assign(components, learner.components);
    },
    hooks: [...(objective.hooks as readonly TrainerHook[]), ...(held ? tables.hooks : [])],
    begin: (started) => {
      warn = started.warn;
      const streams = learner.begin(started.config, random.counts.count > 0);
      if (!streams) return;
      const drawn = drawKeys(streams);
      loader.setState({ key: drawn.data, epoch: 0, position: 0 });
      random.restart({ key: drawn.dropout });
    },
    end: () => skippedUpdates().look(random.counts.count, warn),
    epoch: (counters) => segmentsOf(loader, objective, counters, capacityOf),
    run,
    ...(held && { validate: validator(held) }),
    test: async (given, counters = noCounters) => {
      const held = placeHeldOut(options, given, where, "test");
      withName(`${kind}: test`, () => evalShape(loss, params.specs, batchSpec(held.data, 1)));
      checkTargets(`${kind}: test`, options, given, held, params.specs);
      return validator(held)({ counters, signal: new AbortController().signal });
    },
    snapshot: (names = Object.keys(components)) => frozenStates(kind, components, names),
    get params() {
      return params.getState() as Params<Tensor>;
    },
    predict: (x) => predictor(params.now, placeArrays(`${kind}: predict`, x, where).tree) as Fetch<O>,
  };
}

/** Keys of the task's own random streams. */
const drawKeys = (streams: RandomStreams) => ({
  data: streams.get("data").key(),
  dropout: streams.get("dropout").key(),
});

/** Held-out examples, where the task computes. */
function placeHeldOut(
  options: AnyOptions,
  given: SupervisedData,
  where: Learner["where"],
  name: "validation" | "test",
): Examples {
  const held = placeExamples(`${kind}: ${name}`, given, where, options.targets !== undefined);
  if (held.length > 0) return held;
  throw new EspalierError("DATA_EMPTY", `${kind}: ${name} has no examples`, {
    fix: `give examples, or leave ${name} out`,
  });
}

/** Traces the objective over both sets of examples, and checks their labels. */
function checkExamples(
  options: AnyOptions,
  examples: Examples,
  held: Examples | undefined,
  params: Specs<Params>,
  loss: (params: Params, rows: Rows) => Value,
): void {
  const trace = ({ data, length }: Examples) =>
    evalShape(loss, params, batchSpec(data, Math.min(options.batchSize, length)));
  checkTargets(`${kind}: data`, options, options.data, examples, params);
  if (examples.data.weight && examples.length > 0) trace(examples);
  if (!held) return;
  // After the training data, so that an error here is about validation.
  if (examples.length > 0) trace(examples);
  withName(`${kind}: validation`, () => trace(held));
  checkTargets(`${kind}: validation`, options, options.validation as SupervisedData, held, params);
}

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
  loader: Loader,
  objective: SupervisedObjective,
  counters: Counters,
  capacityOf: (batches: BatchGroup) => number,
): readonly Segment[] {
  let at = counters;
  return loader.groups.flatMap((batches) => {
    let { from } = batches;
    const adds = addsWithSteps(batches);
    const lengths = objective.chunks(at, adds, batches.count);
    at = advanceCounters(at, adds, batches.count);
    return lengths.map((repeats): Segment => {
      const data: Position = { batches, from };
      from += repeats * batches.size;
      return {
        phase: "train",
        repeats,
        adds: addsOf(batches),
        fusesWithNext: false,
        maxFuse: capacityOf(batches),
        data,
      };
    });
  });
}

/** The first example of a span; the loader must stand there, or at an epoch it has left in the middle. */
function beginOf(loader: Loader, { segment, from }: Span): number {
  const position = segment.data as Position;
  const begin = position.from + from * position.batches.size;
  if (begin !== loader.position && begin === 0) loader.startNext();
  if (begin === loader.position) return begin;
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
function taskSettings(options: AnyOptions, loader: Loader, objective: SupervisedObjective): Settings {
  const { batchSize, accumulate = 1, lastBatch = "keep", optimizer, seed } = options;
  return {
    batchSize,
    accumulate,
    lastBatch,
    shuffle: loader.shuffle,
    examples: loader.length,
    losses: objective.settings,
    optimizer: { kind: optimizer.kind, rates: optimizer.rates as Setting },
    ...(seed !== undefined && { seed }),
    ...(options.deterministic !== undefined && { deterministic: options.deterministic }),
  };
}

/**
 * Warns of updates that the optimizer has skipped: without it, a run in which none took effect would look completed. It
 * reads the optimizer's count when it is asked to look, and never on the way.
 */
export class SkippedUpdates {
  readonly #state: TensorState<OptimizerState>;
  /** The position of the count among the state's leaves. */
  readonly #leaf: number | undefined;
  #count = 0;

  constructor(state: TensorState<OptimizerState>) {
    this.#state = state;
    const { shape, types } = state.packing;
    const positions = unflatten(
      shape,
      types.map((_, leaf) => leaf),
    );
    this.#leaf = findValue(positions as OptimizerState<number>, "skipped");
  }

  /** There was something to warn of. */
  get reported(): boolean {
    return this.#count > 0;
  }

  /** `attempted`: updates so far. */
  async look(attempted: number, warn: (text: string) => void): Promise<void> {
    if (this.#leaf === undefined) return;
    const skipped = Number((await this.#state.readLeaf(this.#leaf))[0]);
    if (skipped <= this.#count) return;
    this.#count = skipped;
    warn(
      `${skipped} of ${attempted} updates were not applied, because their gradients were not finite (skipNonFinite). ` +
        "To find out why: look for inputs and targets that are not finite or out of range, lower the learning rate, " +
        "and see where it begins: the hook gradientMonitor() with monitor: { gradients: true } names the update",
    );
  }
}
