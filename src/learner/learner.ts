import { EspalierError, treeLeaves, treeMap } from "../core/index.ts";
import {
  type CompileOptions,
  compile,
  type Device,
  np,
  onDevice,
  put,
  scan,
  shard,
  type Tensor,
  type Value,
} from "../engine/index.ts";
import type { InitOptions, Params } from "../nn/index.ts";
import type { Optimizer, OptimizerState } from "../optim/index.ts";
import { RandomStreams } from "../random/index.ts";
import type { Ramp } from "../schedule/index.ts";
import type { Stateful, StateTree } from "../state/index.ts";
import { checkShare, type DevicesOption, placeOf } from "./devices.ts";
import { applyGradients, type GradientStepResult, type MonitorOptions } from "./gradient-step.ts";
import { RampNumbers, type RateInputs, type RateRamps, rateRamps } from "./rates.ts";
import { type DeviceState, shardAxis, TensorState } from "./tensor-state.ts";

/**
 * The state of every task that trains by gradients: parameters, the optimizer's state, its rates, and the index of the
 * first update that was not finite. A task makes programs from `states`; one call of such a program is:
 *
 * ```
 * { params, state, first } = states                 on the device, unpacked (tensor-state.ts)
 * repeat count times:
 *   ramps  = the numbers of this update             learning rate, loss weights: inputs (rates.ts)
 *   values, grads = gradientsOf(the task's objective, params)
 *   params, state = applyGradients(grads, ramps)    optimizer, statistics, finite check (gradient-step.ts)
 *   first  = the update's index, if it is the first that was not finite
 * states = { params, state, first }                 packed; memory of the old ones is reused or freed
 * ```
 */
export class Learner {
  readonly device: Device;
  /** The same as options of `put`, `compile` and `init`. */
  readonly where: { readonly engine: Device["engine"]; readonly device: Device };
  readonly params: TensorState<Params>;
  readonly nonFinite: FirstNonFinite;
  readonly rates: RateRamps;
  /** Random streams of the task's seed; the parameters have been drawn from `params`. */
  readonly streams: RandomStreams;
  readonly #options: LearnerOptions;
  #state: TensorState<OptimizerState>;
  #initState: () => OptimizerState<Tensor>;
  #average: AverageOptions | undefined;
  #deterministic: boolean;
  /** A program holds on to the states. */
  #compiled = false;

  constructor(options: LearnerOptions) {
    const { task, optimizer, learningRate, rates, ramps = {} } = options;
    this.#options = options;
    this.#deterministic = options.deterministic ?? false;
    this.rates = rateRamps(task, optimizer, withLearningRate(optimizer, learningRate, rates), ramps);
    this.streams = options.streams ?? new RandomStreams(options.seed ?? 0);
    const key = this.streams.get("params").key();
    const place = placeOf(task, options);
    const on = options.on ?? (isMesh(place.device) ? place.device : undefined);
    const first = firstParams(options.params ?? options.init(key, place), on);
    this.device = on ?? (treeLeaves<Tensor>(first)[0] as Tensor).device;
    this.where = { engine: this.device.engine, device: this.device };
    const borrowed = options.params !== undefined;
    this.params = new TensorState<Params>("params", first, { ...this.stateOptions, borrowed });
    this.#initState = this.#initProgram();
    this.#state = this.#firstState();
    this.nonFinite = new FirstNonFinite(this.where);
    // Updates that were not finite are undone.
    this.params.onSet = () => this.nonFinite.clear();
  }

  /** The state that updates carry along beside the parameters: the optimizer's state, and the average where one is kept. */
  get state(): TensorState<OptimizerState> {
    return this.#state;
  }

  #firstState(): TensorState<OptimizerState> {
    const sharded = this.device.mesh?.shardOptimizer;
    return new TensorState("optimizer", this.#initState(), { ...this.stateOptions, sharded });
  }

  /** Inside a program, where the devices of a mesh share the optimizer's state: how values of it and parameters lie. */
  get #placed() {
    const { mesh } = this.device;
    if (!mesh?.shardOptimizer) return undefined;
    return {
      state: (x: Value): Value => shard(x, shardAxis(x.type, mesh.count) ?? null),
      params: (x: Value): Value => shard(x, null),
    };
  }

  #initProgram(): () => OptimizerState<Tensor> {
    const { packing } = this.params;
    const { optimizer } = this.#options;
    const placed = this.#placed;
    const averages = this.#average !== undefined;
    const init = compile(
      (arrays: readonly Value[]): OptimizerState => {
        const params = packing.unpack(arrays);
        const state = optimizer.init(params);
        const all = averages ? { optimizer: state, average: treeMap(wide, params) as OptimizerState } : state;
        return placed ? treeMap(placed.state, all) : all;
      },
      { ...this.where, name: "init" },
    );
    return () => init(this.params.now);
  }

  /**
   * Keeps a moving average of the parameters from the next update on: after each update that took effect
   * `decay * average + (1 - decay) * params`, from the first parameters on. It is computed within the update, so that it
   * counts every one, fused or not. An error once a program has been made.
   */
  average(options: AverageOptions): void {
    if (this.#compiled)
      throw new EspalierError("HOOK_INVALID", `${this.#options.task}: an average is kept from the start on`, {
        fix: "give emaHook to the Trainer when it is made: hooks: [emaHook()]",
      });
    this.#average = options;
    this.#initState = this.#initProgram();
    this.#state = this.#firstState();
  }

  /** The part of the task's settings that the average is. */
  get averageSettings(): { readonly ema?: { readonly decay: number } } {
    return this.#average ? { ema: { decay: this.#average.decay } } : {};
  }

  /** The saved components: `params`, `optimizer`, and `ema` where an average is kept. */
  get components(): Readonly<Record<string, Stateful>> {
    if (!this.#average) return { params: this.params, optimizer: this.state };
    return {
      params: this.params,
      optimizer: partOf(this.state, "optimizer"),
      ema: partOf(this.state, "average"),
    };
  }

  /** The parameters that validation reads: the average's where that was asked for. */
  get validated(): DeviceState<Params> {
    if (!this.#average?.validate) return this.params;
    const { state } = this;
    const { packing } = state;
    return {
      get now() {
        return state.now;
      },
      donated: false,
      packing: {
        pack: (params) => packing.pack({ optimizer: {}, average: params as OptimizerState }),
        unpack: (arrays) => packing.unpack(arrays).average as Params,
      },
      replace: () => undefined,
    };
  }

  /** The states that an update replaces, for {@link compileUpdate}. */
  get states() {
    this.#compiled = true;
    return { params: this.params, state: this.state, first: this.nonFinite };
  }

  /** Options for further states of the task. On a CPU donating costs, and freeing at once leaves as little behind. */
  get stateOptions() {
    return { device: this.device, donated: this.device.kind !== "cpu" };
  }

  /**
   * Inside a program: a batch, of which each device computes an equal part along the first axis. What cannot be divided,
   * as a smaller last batch, each computes as a whole. On one device nothing changes.
   */
  shard<T>(batch: T): T {
    const { mesh } = this.device;
    if (!mesh) return batch;
    const divides = ({ shape: [n = 0] }: Value): boolean => n > 0 && n % mesh.count === 0;
    return treeMap((x: Value) => (divides(x) ? shard(x, 0) : x), batch);
  }

  /** Refuses a number of rows that the devices cannot share equally. */
  checkShare(what: string, size: number): void {
    checkShare(this.#options.task, this.device, what, size);
  }

  /** Options for a program of this run; ask when the program is made. */
  compileOptions(name: string): CompileOptions {
    return { ...this.where, deterministic: this.#deterministic, name };
  }

  /** The ramps' numbers of a program that does up to `capacity` updates in a call. */
  rampNumbers(capacity: number): RampNumbers {
    return new RampNumbers(this.rates.names, capacity, this.where);
  }

  /** True where updates may run in a loop: convolutions take several times as long inside one on XLA's CPU back end. */
  mayLoop(convolves: () => boolean): boolean {
    return !(this.device.engine === "xla" && this.device.kind === "cpu" && convolves());
  }

  /**
   * Inside a program: one step of the optimizer with the ramps' numbers of this update. `finish` gives the parameters
   * after it, where something else than the optimizer moves some of them.
   */
  applyGradients(
    { params, state }: { readonly params: Params; readonly state: OptimizerState },
    ramps: Readonly<Record<string, Value>>,
    values: Readonly<Record<string, Value>>,
    grads: Params,
    finish: (next: GradientStepResult) => Params = (next) => next.params,
  ): GradientStepResult {
    const { optimizer, monitor = {} } = this.#options;
    const rates = this.rates.rates(ramps);
    const inner = this.#average ? (state.optimizer as OptimizerState) : state;
    const placed = this.#placed;
    const given = { optimizer, monitor, params, state: inner, rates, grads, values, placed };
    const stepped = applyGradients(given);
    const next = { ...stepped, params: finish(stepped) };
    if (!this.#average) return next;
    const decay = np.full([], this.#average.decay);
    const { applied } = next;
    const average = treeMap(
      (old: Value, now: Value) => {
        const moved = old.mul(decay).add(wide(now).mul(np.subtract(1, decay)));
        const kept = applied ? np.where(applied.equal(1), moved, old) : moved;
        return placed ? placed.state(kept) : kept;
      },
      state.average,
      next.params,
    );
    return { ...next, state: { optimizer: next.state, average: average as OptimizerState } };
  }

  /**
   * A run begins. Where neither the task was given a seed nor anything has been restored or `done`, the run's seed
   * counts: the parameters are drawn again, and the streams are given from which the task draws the rest again.
   */
  begin(
    config: { readonly seed: number; readonly deterministic: boolean },
    done: boolean,
  ): RandomStreams | undefined {
    const { seed, streams, params, init, deterministic } = this.#options;
    this.#deterministic = deterministic ?? config.deterministic;
    this.nonFinite.clear();
    const own = seed !== undefined || streams !== undefined;
    if (own || config.seed === 0 || this.params.restored || done) return undefined;
    const drawn = new RandomStreams(config.seed);
    const key = drawn.get("params").key();
    if (!params) {
      this.params.setState(init(key, this.where));
      this.state.setState(this.#initState() as StateTree);
    }
    return drawn;
  }
}

/** Options of a moving average of parameters. */
export interface AverageOptions {
  /** The share of the old average that stays at each update. */
  readonly decay: number;
  /** Validation reads the average. */
  readonly validate: boolean;
}

/** In the precision that averages are kept in: at least f32. */
const wide = (value: Value): Value => (value.dtype === "f64" ? value : value.astype("f32"));

/** A part of a state, by its name, as a component of its own. */
function partOf(whole: TensorState<OptimizerState>, name: "optimizer" | "average"): Stateful {
  const states = (): { readonly [part: string]: StateTree } =>
    whole.getState() as { readonly [part: string]: StateTree };
  return {
    // An optimizer that remembers nothing has no part.
    getState: () => states()[name] ?? {},
    setState: (state) => whole.setState({ ...states(), [name]: state }),
  };
}

export interface LearnerOptions {
  /** The task's name in errors. */
  readonly task: string;
  readonly optimizer: Optimizer;
  /** Default: the optimizer's own. */
  readonly learningRate?: Ramp | number | undefined;
  /** Further rates of the optimizer. */
  readonly rates?: RateInputs | undefined;
  /** Ramps of the objective, inputs of the same programs. */
  readonly ramps?: Readonly<Record<string, Ramp>> | undefined;
  readonly monitor?: MonitorOptions | undefined;
  /** Initial parameters. Default: those that `init` draws. */
  readonly params?: Params<Tensor> | undefined;
  readonly init: (key: Uint32Array, where: InitOptions) => Params<Tensor>;
  /** Default: the run's seed. */
  readonly seed?: number | undefined;
  /** Instead of a seed. */
  readonly streams?: RandomStreams | undefined;
  /** The device that parameters are drawn on. Default: the engine's choice. */
  readonly engine?: InitOptions["engine"] | undefined;
  readonly device?: InitOptions["device"] | undefined;
  /** Several devices that train together. Instead of `device`. */
  readonly devices?: DevicesOption | undefined;
  /** The device of the programs. Default: that of the parameters. */
  readonly on?: Device | undefined;
  /** Default: what the run's configuration says. */
  readonly deterministic?: boolean | undefined;
}

const isMesh = (device: number | Device | undefined): device is Device =>
  typeof device === "object" && device.mesh !== undefined;

/** Parameters where they are, except where several devices need them. */
const firstParams = (params: Params<Tensor>, on: Device | undefined): Params<Tensor> =>
  isMesh(on) ? treeMap((tensor: Tensor) => onDevice(tensor, on), params) : params;

/** The rates that are inputs of programs: those given, and the learning rate always. */
function withLearningRate(
  optimizer: Optimizer,
  learningRate: Ramp | number | undefined,
  rates: RateInputs | undefined,
): RateInputs {
  const own = optimizer.rates.learningRate;
  const rate = learningRate ?? (typeof own === "number" ? own : undefined);
  return { ...(rate !== undefined && { learningRate: rate }), ...rates };
}

/**
 * The index of the run's first update that was not finite, i32 on the device; -1 while all were. Programs take it and
 * give the next one, so that the newest knows of all. It is no part of checkpoints: those are taken of finite runs only.
 */
export class FirstNonFinite extends TensorState<Value> {
  constructor({ device, engine }: Learner["where"]) {
    const none = put(Int32Array.of(-1), { engine, device, shape: [] });
    super("first", none, { device, donated: false });
  }

  /** Another run begins. */
  clear(): void {
    this.setState(Int32Array.of(-1));
  }

  /** The report of a call; `from` is the index of its first update. The tensor stays: it is the trainer's to read. */
  report(from: number): { readonly first: Tensor; readonly from: number } {
    return { first: this.getState() as Tensor, from };
  }
}

/**
 * Inside a program: a loop over `count` steps, at most `capacity`. With a capacity of one there is no loop, which
 * spares convolutions on a CPU one.
 */
export function repeat<C, X, Y>(
  capacity: number,
  count: Value,
  init: C,
  xs: X,
  body: (carry: C, x: X, index: Value) => readonly [carry: C, y: Y],
): readonly [carry: C, ys: Y] {
  if (capacity > 1)
    return scan((carry: C, x: X, index: Value) => body(carry, x, index), init, xs, {
      length: count,
      maxLength: capacity,
    });
  const first = treeMap((stack: Value) => np.reshape(stack, stack.shape.slice(1)), xs);
  const [carry, y] = body(init, first, np.zeros([], { dtype: "i32" }));
  return [carry, treeMap((value: Value) => np.expandDims(value, 0), y)];
}
