import { EspalierError, type ManualClock, manualClock } from "../../core/index.ts";
import { put } from "../../engine/index.ts";
import type { HookTiming, SlotBoard } from "../../hooks/index.ts";
import { advanceCounters, type Counters, type Unit } from "../../schedule/index.ts";
import type { Stateful } from "../../state/index.ts";
import {
  type Outcome,
  type Phase,
  type Report,
  type Request,
  type Segment,
  type Task,
  Trainer,
  type TrainerContext,
  type TrainerEvent,
  type TrainerHook,
  type TrainingConfig,
  trainerEvents,
} from "../../trainer/index.ts";

/** Options of {@link simulate}. */
export interface SimulationOptions extends Script {
  /** Moves with the batches; read it or move it on in a handler. */
  readonly clock?: ManualClock;
  /** Hooks that are to fail, by name. */
  readonly failures?: readonly (InjectedFailure & { readonly hook: string })[];
  /** Runs batches that no hook watches in one call, as in a real run. Default: false, one by one. */
  readonly fuse?: boolean;
  /** Anything else of the training config: rank, seed, trace. */
  readonly config?: Partial<TrainingConfig>;
}

/** The result of a scripted run. */
export interface Simulation {
  /** Every call of every handler, in the order in which they began. */
  readonly calls: readonly RecordedCall[];
  readonly logged: readonly Logged[];
  readonly warnings: readonly string[];
  /** The values that hooks shared, as they were at the end. */
  readonly slots: SlotBoard;
  readonly counters: Counters;
  /** The newest value of every metric that batches and rollouts reported. */
  readonly metrics: Readonly<Record<string, number>>;
  readonly outcome: Outcome;
  readonly reason: string | undefined;
  readonly error: unknown;
  readonly clock: ManualClock;
  readonly timings: readonly HookTiming[];
  /** The order of the hooks, with reasons. */
  readonly plan: string;
}

/**
 * Runs hooks through a scripted run: the real trainer with its real events in their real order, and a task that
 * computes nothing. A hook that fails the run does not fail the simulation: see `outcome` and `error`. Hooks that
 * cannot be registered do.
 *
 * @example
 * ```ts
 * const run = await simulate(myHook, { epochs: 3, batches: 10 });
 * assert.deepEqual(ran(run, "my hook", "epochs"), [1, 2, 3]);
 * ```
 */
export async function simulate(
  hooks: TrainerHook | readonly TrainerHook[],
  options: SimulationOptions = {},
): Promise<Simulation> {
  const { clock = manualClock(), failures = [], fuse = false, epochs = 1, config } = options;
  const calls: RecordedCall[] = [];
  const logged: Logged[] = [];
  const warnings: string[] = [];
  const list = Array.isArray(hooks) ? (hooks as readonly TrainerHook[]) : [hooks as TrainerHook];
  checkNames(list, failures);
  const recorded = list.map((hook) => around(around(hook, injecting(failures)), recording(calls)));
  const trainer = new Trainer({
    task: scriptedTask(options, clock),
    config: { handleSignals: false, ...config, epochs, fuse },
    hooks: recorded,
    clock,
    warn: (text) => warnings.push(text),
    logger: {
      as: (hook) => ({
        log: (values, counters, category) => logged.push({ hook, values, category, counters }),
      }),
    },
  });
  const plan = trainer.hooks.plan().text;
  try {
    await trainer.train();
  } catch (error) {
    if (!trainer.result) throw error;
  }
  const { counters, metrics, outcome, reason, error, timings } = trainer.result ?? missing();
  return {
    calls,
    logged,
    warnings,
    slots: trainer.hooks.slots,
    counters,
    metrics,
    outcome,
    reason,
    error,
    clock,
    timings: timings.hooks,
    plan,
  };
}

/** A failure that could never happen would make a test pass for nothing. */
function checkNames(hooks: readonly TrainerHook[], failures: SimulationOptions["failures"] = []): void {
  const namesOf = (hook: Pick<TrainerHook, "name" | "children">): readonly string[] => [
    hook.name,
    ...(hook.children ?? []).flatMap(namesOf),
  ];
  const names = hooks.flatMap(namesOf);
  for (const { hook } of failures)
    if (!names.includes(hook))
      throw new EspalierError("HOOK_UNKNOWN", `"${hook}" is to fail, and there is no such hook`, {
        fix: `the hooks are ${names.join(", ")}`,
      });
}

function missing(): never {
  throw new EspalierError("SIMULATION_UNFINISHED", "the run ended without a result", {
    fix: "report this with the hooks that were simulated",
  });
}

/** The script of a run. */
export interface Script {
  /** Default: 1. */
  readonly epochs?: number;
  /** Batches per epoch. Default: 10. */
  readonly batches?: number;
  /** Default: 1. */
  readonly samplesPerBatch?: number;
  /** Samples that a rollout before the batches of each epoch gathers; `true` for as many as the batches use. */
  readonly rollout?: boolean | number;
  /** Metrics of a validation at the end of each epoch: always the same, or by counters. Left out: none. */
  readonly validation?: Numbers | ((counters: Counters) => Numbers);
  /** Metrics of each batch, by the counters after it. Default: a loss that falls. */
  readonly values?: (counters: Counters) => Numbers;
  /** Metrics of each rollout, by the counters after it. Default: nothing. */
  readonly rolloutValues?: (counters: Counters) => Numbers;
  /** The batch, from 1, whose work fails. */
  readonly failAt?: number;
  /** Seconds by which the clock moves with each batch. Default: 0.1. */
  readonly secondsPerBatch?: number;
  /** States beside those of trainer and hooks, for hooks that read them. */
  readonly components?: Readonly<Record<string, Stateful>>;
}

type Numbers = Readonly<Record<string, number>>;

/** A task that does what the script says and computes nothing. */
export function scriptedTask(script: Script, clock: ManualClock): Task {
  const { batches = 10, samplesPerBatch = 1, validation, failAt, components = {} } = script;
  const { values = fallingLoss, rolloutValues, secondsPerBatch = 0.1 } = script;
  const gathered = script.rollout === true ? batches * samplesPerBatch : Number(script.rollout ?? 0);
  const shared = { fusesWithNext: true, maxFuse: 1000 };
  const rollout: Segment = { phase: "rollout", repeats: 1, adds: { samples: gathered }, ...shared };
  const adds = { updates: 1, samples: gathered > 0 ? 0 : samplesPerBatch };
  const train: Segment = { phase: "train", repeats: batches, adds, ...shared };

  return {
    components,
    sampleUnit: "examples",
    stepUnit: "updates",
    ramps: {},
    epoch: () => (gathered > 0 ? [rollout, train] : [train]),
    run(request) {
      clock.advance(request.count * secondsPerBatch * 1000);
      const rows: Numbers[] = [];
      const rollouts: Numbers[] = [];
      for (const { phase, counters } of repeatsOf(request)) {
        if (phase === "rollout") {
          if (rolloutValues) rollouts.push(rolloutValues(counters));
          continue;
        }
        if (counters.batches === failAt)
          throw new EspalierError("SCRIPTED_FAILURE", `batch ${failAt} was to fail`, {
            fix: "leave out failAt",
          });
        rows.push(values(counters));
      }
      if (rows.length === 0) return { metrics: columns(rollouts) };
      return { metrics: columns(rows), ...(rollouts.length > 0 && { rollout: columns(rollouts) }) };
    },
    ...(validation && {
      validate: async ({ counters }) =>
        typeof validation === "function" ? validation(counters) : validation,
    }),
    async snapshot(names = Object.keys(components)) {
      const states = names.map(async (name) => [name, (await components[name]?.getState()) ?? null] as const);
      return { components: Object.fromEntries(await Promise.all(states)) };
    },
  };
}

const fallingLoss = ({ batches }: Counters): Numbers => ({ loss: 1 / batches });

/** The counters after each repeat of a request. */
function* repeatsOf({ spans }: Request): Generator<{ readonly phase: Phase; readonly counters: Counters }> {
  for (const { segment, count, at } of spans)
    for (let i = 1; i <= count; i++)
      yield { phase: segment.phase, counters: advanceCounters(at, segment.adds, i) };
}

/** One tensor per name, with a row for each repeat. */
function columns(rows: readonly Numbers[]): Report["metrics"] {
  const names = Object.keys(rows[0] ?? {});
  const column = (name: string): Float32Array => Float32Array.from(rows, (row) => row[name] ?? Number.NaN);
  return Object.fromEntries(names.map((name) => [name, put(column(name), { engine: "wasm" })]));
}

/** A failure to inject into calls of a hook. */
export interface InjectedFailure {
  /** The n-th call, from 1. Default: every call. */
  readonly call?: number;
  /** Counts and fails only in this event. Default: all. */
  readonly event?: TrainerEvent;
  /** The error it fails with. Default: an error that says that it was injected. */
  readonly error?: unknown;
  /** Rejects instead of throwing. Default: false. */
  readonly async?: boolean;
}

/**
 * The same hook, made to fail. The call that fails does not happen.
 *
 * @example
 * ```ts
 * const run = await simulate(failing(uploadHook, { call: 2 }), { epochs: 3 });
 * assert.equal(run.outcome, "failed");
 * ```
 */
export const failing = (hook: TrainerHook, failure: InjectedFailure = {}): TrainerHook =>
  around(hook, injecting([{ hook: undefined, ...failure }]));

/** Fails the calls that are to fail. `hook` is undefined for whichever. */
function injecting(failures: readonly (InjectedFailure & { readonly hook: string | undefined })[]): Around {
  const counts = failures.map(() => 0);
  return (name, event, _context, call) => {
    for (const [i, failure] of failures.entries()) {
      if (failure.hook !== undefined && failure.hook !== name) continue;
      if (failure.event !== undefined && failure.event !== event) continue;
      counts[i] = (counts[i] as number) + 1;
      if (failure.call !== undefined && failure.call !== counts[i]) continue;
      const error = failure.error ?? new Error(`injected into call ${counts[i]} of "${name}"`);
      if (failure.async) return Promise.reject(error);
      throw error;
    }
    return call();
  };
}

/** One call of one handler. */
export interface RecordedCall {
  readonly hook: string;
  readonly event: TrainerEvent;
  readonly counters: Counters;
  /** Its result, once it was done; undefined where it failed. */
  readonly result: unknown;
  /** The error it failed with. */
  readonly error: unknown;
}

/** Values that a hook logged. */
export interface Logged {
  /** In whose name. Empty for a lone context. */
  readonly hook: string;
  readonly values: Readonly<Record<string, unknown>>;
  readonly category: string | undefined;
  readonly counters: Counters;
}

/** Does a call, or something instead of it. */
type Around = (hook: string, event: TrainerEvent, context: TrainerContext, call: () => unknown) => unknown;

/**
 * The same hook with something around each of its calls, its children's included. A copy: hooks may be frozen or keep
 * private fields, so that they are never changed and always called as themselves.
 */
function around(hook: TrainerHook, wrap: Around): TrainerHook {
  const copy: TrainerHook = { name: hook.name };
  const set = (key: string, value: unknown) =>
    Object.defineProperty(copy, key, { value, enumerable: true, configurable: true });
  const keys = keysOf(hook);
  for (const key of keys) {
    const value: unknown = Reflect.get(hook, key);
    if (typeof value !== "function") set(key, value);
    else if (isEvent(key) || (key === "run" && !keys.some(isEvent)))
      set(key, (context: TrainerContext) =>
        wrap(hook.name, context.event as TrainerEvent, context, () => value.call(hook, context)),
      );
    else set(key, value.bind(hook));
  }
  // A class may put another object in its place.
  if ("state" in hook) Object.defineProperty(copy, "state", { get: () => hook.state, enumerable: true });
  if (hook.children)
    set(
      "children",
      hook.children.map((child) => around(child as TrainerHook, wrap)),
    );
  return copy;
}

/** Writes every call down, in the order in which they begin. */
function recording(calls: RecordedCall[]): Around {
  return (hook, event, context, call) => {
    const record = {
      hook,
      event,
      counters: context.counters,
      result: undefined as unknown,
      error: undefined as unknown,
    };
    calls.push(record);
    const done = (result: unknown): unknown => {
      record.result = result;
      return result;
    };
    const failed = (error: unknown): never => {
      record.error = error;
      throw error;
    };
    try {
      const result = call();
      return result instanceof Promise ? result.then(done, failed) : done(result);
    } catch (error) {
      return failed(error);
    }
  };
}

const isEvent = (key: string): key is TrainerEvent => (trainerEvents as readonly string[]).includes(key);

/** A plain hook's own names; of a class also the handlers and settings that its methods are. */
function keysOf(hook: object): readonly string[] {
  const keys = new Set(Object.keys(hook));
  for (
    let at = Object.getPrototypeOf(hook) as object;
    at && at !== Object.prototype;
    at = Object.getPrototypeOf(at) as object
  )
    for (const key of Object.getOwnPropertyNames(at)) if (key !== "constructor") keys.add(key);
  return [...keys];
}

interface Calls {
  readonly calls: readonly RecordedCall[];
}

/**
 * When a hook ran, in one unit. With an event, only then.
 *
 * @example
 * ```ts
 * assert.deepEqual(ran(run, "checkpoint", "epochs"), [2, 4]);
 * ```
 */
export function ran({ calls }: Calls, hook: string, unit: Unit, event?: TrainerEvent): readonly number[] {
  return calls
    .filter((call) => call.hook === hook && (event === undefined || call.event === event))
    .map(({ counters }) => counters[unit] ?? Number.NaN);
}

/**
 * Which hooks ran, in order: a list for each time the event happened and anyone ran.
 *
 * @example
 * ```ts
 * assert.deepEqual(orderOf(run, "onEpochEnd"), [["evaluation", "metrics", "checkpoint"]]);
 * ```
 */
export function orderOf({ calls }: Calls, event: TrainerEvent): readonly (readonly string[])[] {
  const times: { readonly at: object; readonly names: string[] }[] = [];
  for (const { hook, event: called, counters } of calls) {
    if (called !== event) continue;
    const last = times[times.length - 1];
    // The counters of an event are one object, and a hook runs once in it.
    if (last?.at === counters && !last.names.includes(hook)) last.names.push(hook);
    else times.push({ at: counters, names: [hook] });
  }
  return times.map(({ names }) => names);
}
