import { EspalierError, treeMap } from "../core/index.ts";
import { Loader, type Placement, type Run } from "../data/index.ts";
import {
  type CompileOptions,
  compile,
  evalShape,
  put,
  Spec,
  spec,
  Tensor,
  type Value,
} from "../engine/index.ts";
import { countedKey, type RateInputs, rateRamps, TensorState } from "../learner/index.ts";
import type { Params } from "../nn/index.ts";
import type { OptimizerState } from "../optim/index.ts";
import { RandomStreams } from "../random/index.ts";
import type { StateTree } from "../state/index.ts";
import type { Batch } from "./batch.ts";
import { checkLabels, labelsOf } from "./labels.ts";
import { loopsPay } from "./loops-pay.ts";
import { objectiveOf } from "./objective.ts";
import { inputSpec, type Placed, placed } from "./placing.ts";
import { capacityOf, programs } from "./programs.ts";
import {
  checkTaskOptions,
  type PlacedData,
  type SupervisedData,
  type SupervisedOptions,
} from "./task-options.ts";

type Options = SupervisedOptions<never, never, unknown>;

/** Everything a supervised task consists of, in the order in which it is set up: data, losses, parameters, programs. */
export function setUp(kind: string, options: Options) {
  checkTaskOptions(kind, options as never);
  const { model, optimizer, batchSize, accumulate = 1, maxFuse = 256, targets, shuffle, lastBatch } = options;
  const given = options.streams ?? new RandomStreams(options.seed ?? 0);

  const training = placed(`${kind}: data`, options.data, options, targets !== undefined);
  const { data, length, device } = training;
  if (length === 0 && options.empty !== "skip")
    throw new EspalierError("DATA_EMPTY", `${kind}: the data has no examples`, {
      fix: 'give examples, or say that there may be none: empty: "skip"',
    });
  const where = { engine: device.engine, device: device.index };
  const keys = drawKeys(given);
  const size = batchSize * accumulate;
  const loader = new Loader({ length, batchSize: size, key: keys.data, shuffle, lastBatch });
  const batchOf = (rows: Batch): Batch => (rows.y === undefined && targets ? targets(rows.x as never) : rows);

  const objective = objectiveOf(model, options.loss as never, (options.metrics ?? {}) as never);
  const rates = rateRamps(kind, optimizer, ratesGiven(options), objective.ramps);

  // On a CPU donating costs, and old tensors that are disposed of at once leave as little behind.
  const donated = device.kind !== "cpu";
  const input = inputSpec(data, batchSize, targets) as never;
  const first = options.params ?? model.init(keys.params, input, where);
  const lent = options.params !== undefined;
  const params = new TensorState<Params>("params", first, { device, donated, lent });
  const init = compile((arrays: readonly Value[]) => optimizer.init(params.packing.unpack(arrays)), {
    ...where,
    name: "init",
  });
  const state = new TensorState<OptimizerState>("optimizer", init(params.now), {
    device,
    donated,
    lent: false,
  });
  const random = countedKey(keys.dropout, (key) => put(key, where));

  const loss = (p: Params, rows: Batch) =>
    objective.compute(objective.names, {
      params: p,
      batch: batchOf(rows),
      train: false,
      ramps: anyWeights,
    })[0];
  const anyWeights = Object.fromEntries(Object.keys(objective.ramps).map((name) => [name, 1]));
  const loops = length === 0 || loopsPay(loss, first, data, Math.min(batchSize, length), device);
  checkTargets(`${kind}: data`, options, options.data, training, first);
  const held = options.validation && validationOf(kind, options, options.validation, where);
  if (held) {
    // Traced here, after the data, so that what does not fit is known to be of validation.
    if (length > 0) evalShape(loss, first, batchSpec(data, Math.min(batchSize, length)));
    const size = Math.min(batchSize, held.length);
    named(`${kind}: validation`, () => evalShape(loss, first, batchSpec(held.data, size)));
    checkTargets(`${kind}: validation`, options, options.validation as SupervisedData, held, first);
  }
  let { deterministic = false } = options;
  const compileOptions = (): CompileOptions => ({ ...where, deterministic });
  const programOf = programs({
    ...{ objective, optimizer, rates, batchSize, batchOf, loops, maxFuse },
    ...{ params: params.packing, state: state.packing },
    monitor: options.monitor ?? {},
    options: () => ({
      ...compileOptions(),
      name: "the training program",
      ...(donated && { donate: [0, 1] }),
    }),
  });

  /** Takes what the run says where the task was not told: its seed, unless something has been restored or done. */
  const begin = (config: { readonly seed: number; readonly deterministic: boolean }): void => {
    deterministic = options.deterministic ?? config.deterministic;
    const own = options.seed !== undefined || options.streams !== undefined;
    if (own || config.seed === 0 || params.restored || random.count > 0) return;
    const drawn = drawKeys(new RandomStreams(config.seed));
    if (!options.params) {
      params.setState(model.init(drawn.params, input, where));
      state.setState(init(params.now) as StateTree);
    }
    loader.setState({ key: drawn.data, epoch: 0, position: 0 });
    random.setState({ key: drawn.dropout, count: 0 });
  };
  return {
    begin,
    ...{ data, device, where, loader, batchOf, objective, rates, params, state, random },
    ...{ compileOptions, programOf, loops, maxFuse, held },
    capacityOf: (run: Run): number => capacityOf(run, { loops, maxFuse }),
  };
}

/** Examples to validate on, where the task computes. */
function validationOf(kind: string, options: Options, given: SupervisedData, where: Placement): Placed {
  const held = placed(`${kind}: validation`, given, where, options.targets !== undefined);
  if (held.length > 0) return held;
  throw new EspalierError("DATA_EMPTY", `${kind}: there are no examples to validate on`, {
    fix: "give examples, or leave validation out",
  });
}

/** Refuses labels out of range, where a loss tells classes. With as many axes as the logits, targets are distributions. */
function checkTargets(
  what: string,
  { model, loss }: Options,
  given: SupervisedData,
  { data, length }: Placed,
  params: Params<Tensor>,
): void {
  const labels = labelsOf(loss);
  if (!labels || !(data.y instanceof Tensor) || length === 0) return;
  const outputs: unknown = named(what, () =>
    evalShape((p: Params, x: never) => model.apply(p, x, { train: false }), params, batchSpec(data, 1).x),
  );
  if (!(outputs instanceof Spec) || data.y.ndim >= outputs.shape.length) return;
  checkLabels(what, given.y, outputs.shape.at(-1) as number, labels);
}

/** A batch of so many of these examples, as shapes. */
const batchSpec = (data: PlacedData, size: number): Batch =>
  treeMap(({ shape, dtype }: Tensor) => spec([size, ...shape.slice(1)], dtype), data) as unknown as Batch;

/** Runs what may throw one of our errors, and says of which data it is. */
function named<T>(what: string, work: () => T): T {
  try {
    return work();
  } catch (cause) {
    if (!(cause instanceof EspalierError)) throw cause;
    const [message = ""] = cause.message.split(` [${cause.code}]`);
    throw new EspalierError(cause.code, `${what}: ${message}`, {
      ...(cause.fix && { fix: cause.fix }),
      ...(cause.at && { at: cause.at }),
    });
  }
}

/** What the task draws, once: the rest follows from these and from counts. */
const drawKeys = (streams: RandomStreams) => ({
  params: streams.get("params").key(),
  data: streams.get("data").key(),
  dropout: streams.get("dropout").key(),
});

/** The rates that are inputs of the program: those given, and the learning rate always. */
function ratesGiven({ optimizer, learningRate, rates }: Options): RateInputs {
  const own = optimizer.rates.learningRate;
  const rate = learningRate ?? (typeof own === "number" ? own : undefined);
  return { ...(rate !== undefined && { learningRate: rate }), ...rates };
}
