import { type Clock, EspalierError, manualClock, node } from "../../core/index.ts";
import { put, type Tensor } from "../../engine/index.ts";
import { HookManager, type Slot, type SlotAccess } from "../../hooks/index.ts";
import { RandomStreams } from "../../random/index.ts";
import { type Counters, noCounters } from "../../schedule/index.ts";
import { firstDifference, type Stateful, type StateTree } from "../../state/index.ts";
import {
  type TrainerContext,
  type TrainerEvent,
  type TrainerEvents,
  type TrainerHook,
  type TrainerState,
  type TrainingConfig,
  trainerEvents,
  trainingConfig,
  type Values,
} from "../../trainer/index.ts";
import type { Logged } from "./simulate.ts";

/** Options of {@link hookContext}. Everything else is that of a run before its first batch. */
export interface HookContextOptions {
  /** Default: `onEpochEnd`, and `onBatchesEnd` where values are given. */
  readonly event?: TrainerEvent;
  /** Default: 0 each. */
  readonly counters?: Readonly<Record<string, number>>;
  /** The counters when the event last happened. Left out: the moment stands alone. */
  readonly since?: Readonly<Record<string, number>>;
  /** Metrics of the last batch: `state.metrics()` returns them, and in `onBatchesEnd` so do the `values`. */
  readonly values?: Readonly<Record<string, number>>;
  /** Metrics of the last validation. */
  readonly validation?: Readonly<Record<string, number>>;
  readonly phase?: TrainerState["phase"];
  /** Slots that other hooks have provided: pairs of slot and value. */
  readonly slots?: readonly (readonly [Slot, unknown])[];
  readonly components?: Readonly<Record<string, Stateful>>;
  readonly config?: Partial<TrainingConfig>;
  readonly clock?: Clock;
  readonly error?: unknown;
  readonly outcome?: TrainerContext["outcome"];
  readonly reason?: string;
}

/** A context that keeps what a handler did with it. */
export interface LoneContext extends TrainerContext {
  /** Logged values, in order. */
  readonly logged: readonly Logged[];
  /** The reasons given to `stop`. */
  readonly stops: readonly string[];
  /** Waits for what was given to `afterEvent` and `inBackground`; the first failure is raised. */
  settle(): Promise<void>;
}

/**
 * A context for a lone call of a handler. No trainer, no mocks.
 *
 * @example
 * ```ts
 * const context = hookContext({ event: "onEpochEnd", counters: { epochs: 10 }, slots: [[evaluationScores, scores]] });
 * await hook.onEpochEnd?.(context);
 * assert.deepEqual(context.logged[0]?.values, { best: 0.9 });
 * ```
 */
export function hookContext(options: HookContextOptions = {}): LoneContext {
  const { clock = manualClock(), components = {}, phase = "none", error, outcome, reason } = options;
  const config = trainingConfig(options.config);
  const counters: Counters = { ...noCounters, ...options.counters };
  const event = options.event ?? (options.values ? "onBatchesEnd" : "onEpochEnd");
  const values =
    options.values && event === "onBatchesEnd" ? hostValues(options.values, counters) : undefined;
  const logged: Logged[] = [];
  const stops: string[] = [];
  const works: Promise<unknown>[] = [];
  return {
    event,
    counters,
    since: options.since && { ...noCounters, ...options.since },
    rank: config.rank,
    sharesState: false,
    endAsked: undefined,
    slots: openSlots(options.slots ?? []),
    log: (given, category) => void logged.push({ hook: "", values: given, category, counters }),
    clock,
    signal: new AbortController().signal,
    stop: (why) => void stops.push(why),
    endTogether: () => () => undefined,
    afterEvent: (work) => void works.push(Promise.resolve().then(work)),
    inBackground: (work) => void works.push(work),
    settle: async () => {
      while (works.length > 0) await works.shift();
    },
    settings: {},
    about: undefined,
    state: {
      counters,
      phase,
      epochShare: 0,
      metrics: async () => ({ ...options.values }),
      values,
      validation: options.validation,
      rank: config.rank,
      seed: config.seed,
      run: config.name,
    },
    config,
    sampleUnit: "examples",
    values,
    components,
    snapshot: (names = Object.keys(components)) => frozen(components, names),
    interventions: {
      model: Object.keys(components),
      learned: Object.keys(components),
      putBack: async (states) => {
        for (const [name, state] of Object.entries(states)) await components[name]?.setState(state);
      },
      earlierModel: false,
      scaleRamp: () => undefined,
      setRamp: () => undefined,
      ramps: () => ({}),
      hooks: new HookManager<TrainerEvents>({ events: trainerEvents }),
      runHook: async () => false,
      standStill: (work) => work(),
      watchNonFinite: () => async () => undefined,
    },
    atEnd: false,
    random: new RandomStreams(config.seed),
    timings: { rollout: none, train: none, fused: none, validation: none },
    hookTimings: [],
    error,
    outcome,
    reason,
    logged,
    stops,
  };
}

const none = { calls: 0, seconds: 0 };

/** Slots as every hook may use them; what was given at first is what was there before the event. */
function openSlots(given: readonly (readonly [Slot, unknown])[]): SlotAccess {
  const before = new Map(given.map(([{ name }, value]) => [name, value]));
  const now = new Map(before);
  return {
    get: <T>(slot: Slot<T>) => now.get(slot.name) as T | undefined,
    previous: <T>(slot: Slot<T>) => before.get(slot.name) as T | undefined,
    set: (slot, value) => void now.set(slot.name, value),
    isWanted: () => true,
  };
}

/** Metrics of one batch in memory. Tensors are made on demand. */
function hostValues(given: Readonly<Record<string, number>>, counters: Counters): Values {
  const names = Object.keys(given);
  return {
    count: 1,
    names,
    rows: (name) => (names.includes(name) ? 1 : 0),
    spans: [{ phase: "train", from: 0, rows: 1 }],
    phase: () => "train",
    at: () => counters,
    applied: undefined,
    ramps: {},
    tensor: (name): Tensor | undefined =>
      names.includes(name) ? put([given[name] as number], { engine: "wasm" }) : undefined,
    read: async () => Object.fromEntries(names.map((name) => [name, Float32Array.of(given[name] as number)])),
    last: async () => ({ ...given }),
  };
}

async function frozen(components: Readonly<Record<string, Stateful>>, names: readonly string[]) {
  const states: (readonly [string, StateTree])[] = [];
  for (const name of names) states.push([name, (await components[name]?.getState()) ?? null]);
  return { components: Object.fromEntries(states) };
}

/** Options of {@link checkIdempotent}. */
export interface IdempotenceOptions extends Omit<HookContextOptions, "event"> {
  /** The events to try. Default: all that the hook handles. */
  readonly events?: readonly TrainerEvent[];
  /** Effects that only you can see, such as the files in a folder: must be the same after the second call. */
  readonly effects?: () => unknown;
}

/** The result of {@link checkIdempotent}. */
export interface IdempotenceReport {
  readonly idempotent: boolean;
  /** The changes of the second call, in words. */
  readonly differences: readonly string[];
}

/**
 * Checks that a second call at the same moment leaves everything as the first one did: the hook's state, what it sets in
 * slots, logs, gives back, and whatever `effects` looks at. A run that was interrupted may ask again what was asked
 * before, so hooks should be.
 *
 * @example
 * ```ts
 * const { idempotent, differences } = await checkIdempotent(bestHook, { slots: [[evaluationScores, scores]] });
 * assert.ok(idempotent, differences.join("\n"));
 * ```
 */
export async function checkIdempotent(
  hook: TrainerHook,
  options: IdempotenceOptions = {},
): Promise<IdempotenceReport> {
  const own = trainerEvents.filter((event) => hook[event]);
  const handled = own.length === 0 && hook.run ? (["onBatchEnd"] as const) : own;
  const { events = handled, effects, ...context } = options;
  if (events.length === 0 || events.some((event) => !hook[event] && !hook.run))
    throw new EspalierError(
      "HOOK_INVALID",
      `hook "${hook.name}" does not handle ${events.join(", ") || "any event"}`,
      { fix: "name events it handles; of a composite check its children" },
    );
  const differences: string[] = [];
  for (const event of events) {
    const [first, second] = [
      await callOf(hook, event, context, effects),
      await callOf(hook, event, context, effects),
    ];
    const say = (what: string): void => void differences.push(`${event}: ${what}`);
    const state = await firstDifference(first.state, second.state);
    if (state) say(`after the second call the state differs at ${state.text}`);
    for (const part of ["result", "slots", "logged", "stops", "effects"] as const)
      if (!node.util.isDeepStrictEqual(first[part], second[part]))
        say(
          `${words[part]} ${node.util.inspect(second[part])} the second time, and ${node.util.inspect(first[part])} the first time`,
        );
  }
  return { idempotent: differences.length === 0, differences };
}

const words = {
  result: "it gave",
  slots: "it set slots to",
  logged: "it logged",
  stops: "it stopped the run for",
  effects: "its effects were",
} as const;

/** One call with a context of its own, and what came of it. */
async function callOf(
  hook: TrainerHook,
  event: TrainerEvent,
  options: HookContextOptions,
  effects: IdempotenceOptions["effects"],
) {
  const context = hookContext({ ...options, event });
  const result = await (hook[event] ? hook[event](context) : hook.run?.(context));
  const provided = (hook.provides ?? []).map((slot) => [slot.name, context.slots.get(slot)] as const);
  return {
    result,
    // What comes back may be the hook's own object, which the next call changes.
    state: structuredClone(await stateOf(hook)),
    slots: structuredClone(Object.fromEntries(provided)),
    logged: context.logged.map(({ values, category }) => ({ values, category })),
    stops: context.stops,
    effects: structuredClone(effects?.()),
  };
}

function stateOf({ state }: TrainerHook): StateTree | Promise<StateTree> {
  if (state === undefined) return null;
  return typeof state.getState === "function" ? state.getState() : (state as StateTree);
}
