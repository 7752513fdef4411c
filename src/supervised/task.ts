import { type ArrayTree, placeArrays } from "../data/index.ts";
import { compile, type Fetch, put, type Tensor, type Value } from "../engine/index.ts";
import { NonFiniteIndex } from "../learner/index.ts";
import type { Params } from "../nn/index.ts";
import type { Stateful } from "../state/index.ts";
import {
  frozenStates,
  type Report,
  type Request,
  type Span,
  type Task,
  type TrainerHook,
} from "../trainer/index.ts";
import type { Placed } from "./placing.ts";
import { addsWithSteps, beginOf, type Stretch, segmentsOf } from "./segments.ts";
import { taskSettings } from "./settings.ts";
import { setUp } from "./setup.ts";
import { SkippedUpdates } from "./skipped.ts";
import type { SupervisedOptions } from "./task-options.ts";
import { validation } from "./validation.ts";

/** A task that learns targets from inputs. */
export interface SupervisedTask<O = Value> extends Task {
  /** What the model gives for these inputs, with the parameters as they are now. */
  predict(x: ArrayTree): Fetch<O>;
  /** The parameters as they are now. They stay as they are while training goes on. */
  readonly params: Params<Tensor>;
}

const kind = "supervisedTask";

/**
 * Training on examples. They stay on the device, each epoch in a new order; a batch is gathered, its losses, their
 * gradients and the update are one compiled program, which does one update or many in a call.
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
  options: SupervisedOptions<X, Y, O>,
): SupervisedTask<O> {
  const { model } = options;
  const parts = setUp(kind, options as unknown as SupervisedOptions<never, never, unknown>);
  const { data, where, loader, objective, rates, params, state, random, programOf, capacityOf } = parts;
  const components: Readonly<Record<string, Stateful>> = {
    params,
    optimizer: state,
    data: loader,
    keys: random,
    ...objective.components,
  };

  const skipped = new SkippedUpdates(state);
  const nonFinite = new NonFiniteIndex(where);
  let warn: (text: string) => void = () => {};

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
    const { run } = span.segment.data as Stretch;
    const begin = beginOf(loader, span);
    const { program, numbers } = programOf(objective.active(span.at, addsWithSteps(run)), run);
    at[0] = count;
    at[1] = begin;
    at[2] = random.count % 2 ** 31;
    const now = numbers.tensor(ramps, count);
    const next = program(
      params.now,
      state.now,
      data as never,
      orderOnDevice(),
      at,
      now,
      random.tensor,
      nonFinite.now,
    );
    params.replace(next.params);
    state.replace(next.state);
    const found = nonFinite.replace(next.first, at[2]);
    random.count += count;
    loader.advance(count * run.size);
    // Now the device is busy.
    loader.prepareNext();
    return next.applied === null
      ? { metrics: next.values, nonFinite: found }
      : { metrics: next.values, applied: next.applied as Tensor, nonFinite: found };
  };

  const { packing } = params;
  const predictor = compile((p: readonly Value[], x: X) => model.apply(packing.unpack(p), x), {
    ...where,
    name: "predict",
  });
  const validate = parts.held && validator(parts.held);

  function validator(held: Placed): NonNullable<Task["validate"]> {
    const { batchOf, loops, maxFuse, compileOptions } = parts;
    const spec = { params: packing, objective, ...held, batchSize: options.batchSize, batchOf };
    const capacity = loops ? maxFuse : 1;
    let go: ReturnType<typeof validation> | undefined;
    return async ({ counters, signal }) => {
      go ??= validation({ ...spec, capacity, options: compileOptions() });
      const weights = Object.entries(objective.ramps).map(([name, ramp]) => [name, ramp.at(counters)]);
      const metrics = await go(params.now, Object.fromEntries(weights), signal);
      // The device has been waited for just now.
      if (!skipped.told) await skipped.look(random.count, warn);
      return metrics;
    };
  }

  return {
    components,
    sampleUnit: "examples",
    stepUnit: "updates",
    ramps: rates.ramps,
    settings: taskSettings(options as never, parts),
    hooks: objective.hooks as readonly TrainerHook[],
    begin: (given) => {
      warn = given.warn;
      nonFinite.clear();
      parts.begin(given.config);
    },
    end: () => skipped.look(random.count, warn),
    epoch: (counters) => segmentsOf(loader, objective, counters, capacityOf),
    run,
    ...(validate && { validate }),
    snapshot: (names = Object.keys(components)) => frozenStates(kind, components, names),
    get params() {
      return params.getState() as Params<Tensor>;
    },
    predict: (x) =>
      predictor(params.now, placeArrays(`${kind}: predict`, x, where).tree as never) as Fetch<O>,
  };
}
